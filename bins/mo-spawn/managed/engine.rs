//! One managed run at work: what happens comes in one thing after the other, and is dealt with here as far as it needs
//! nobody else. The order of the work is `work`'s.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender};
use std::time::{Duration, Instant};

use shared::clock::Clock;
use shared::control::{Answer, Request};
use shared::event::Kind;
use shared::flatten::flatten;
use shared::lock::Lock;
use shared::record::{Denial, Status};

use super::client::Client;
use super::ending::Ending;
use super::frame::{Asks, Frame, Said};
use super::gate::refused;
use super::inbox::Input;
use super::journal::Journal;
use super::meter::Meter;
use super::policy::{self, Verdict};
use super::speech;
use super::talk::Talk;
use super::workplace::Workplace;
use crate::launch::Launch;
use crate::options::{Limits, Task};
use crate::policy::Policy;
use crate::sandbox::Sandbox;

/// What is shown of what the worker says.
const SHOWN: usize = 300;
/// The longest note of a worker in an event.
const NOTE: usize = 4000;
/// How often the live line goes on by itself.
const SECOND: Duration = Duration::from_secs(1);

/// The run.
pub struct Engine<'a> {
    /// What was asked for.
    pub task: &'a Task,
    /// How Claude Code is started.
    pub launch: Launch,
    /// The worker's session.
    pub session: String,
    /// Where the work happens.
    pub place: Workplace,
    /// What is written down.
    pub journal: Journal,
    /// What was used.
    pub meter: Meter,
    /// The conversation.
    pub talk: Talk,
    /// Claude Code, once it was started.
    pub client: Option<Client>,
    /// What confines the worker and the checks.
    pub sandbox: Option<Sandbox>,
    /// Leave for tools.
    pub policy: Policy,
    /// How often it was started.
    pub started: u32,
    /// What time it is.
    pub clock: Clock,
    /// The worker's place, where there are only so many.
    pub slot: Option<Lock>,
    /// The way in.
    pub inbox: SyncSender<Input>,
    /// What comes in.
    pub inputs: Receiver<Input>,
    /// How much Claude Code has printed.
    pub printed: Arc<AtomicU64>,
    /// Until when it may work.
    pub deadline: Option<Instant>,
    /// Whether a turn is under way, so that the worker takes messages.
    pub listening: bool,
    /// Whether it ends with this turn.
    pub finishing: bool,
    /// Messages of the caller that wait until the checks are through.
    pub held: Vec<String>,
    /// Messages on their way to the worker, and who waits to hear that they arrived.
    pub pending: BTreeMap<String, Sender<Answer>>,
    /// Calls that are known to be denied.
    pub denied: BTreeSet<String>,
}

/// What `next` comes back with.
#[derive(Debug)]
pub enum Step {
    /// Something has changed.
    Look,
    /// The check has ended.
    Checked(std::io::Result<std::process::ExitStatus>),
    /// The time that was named has come.
    Due,
}

impl Engine<'_> {
    /// Waits for the next thing that happens, or for this time. An ending is what must be done next.
    pub fn next(&mut self, until: Option<Instant>) -> Result<Step, Ending> {
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            return Err(self.out_of_time());
        }
        let tick = self.journal.screen.is_live().then(|| now + SECOND);
        let wake = [until, self.deadline, tick].into_iter().flatten().min();
        let input = match wake {
            Some(wake) => self.inputs.recv_timeout(wake.saturating_duration_since(now)),
            None => self.inputs.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match input {
            Ok(input) => self.take(input),
            Err(_) if until.is_some_and(|until| until <= Instant::now()) => Ok(Step::Due),
            Err(_) => {
                let elapsed = self.journal.elapsed();
                self.journal.screen.draw(elapsed);
                Ok(Step::Look)
            }
        }
    }

    fn out_of_time(&self) -> Ending {
        let limit = self.task.limits.time.unwrap_or_default().as_secs();
        Ending::of(Status::Timeout, "timeout", format!("it took longer than {limit} s"))
    }

    fn take(&mut self, input: Input) -> Result<Step, Ending> {
        match input {
            Input::Frame(number, frame) => {
                if self.client.as_ref().is_some_and(|client| client.number == number) {
                    self.hear(*frame);
                    self.within_limits()?;
                }
            }
            Input::Silent(number) => {
                if let Some(client) = self.client.as_mut().filter(|client| client.number == number) {
                    client.silent = true;
                }
            }
            Input::Deaf(number) => {
                if let Some(client) = self.client.as_mut().filter(|client| client.number == number) {
                    client.deaf = true;
                }
            }
            Input::Ended(number, status) => {
                if let Some(client) = self.client.as_mut().filter(|client| client.number == number) {
                    client.gone = true;
                    client.status = status.ok();
                }
            }
            Input::Checked(ended) => return Ok(Step::Checked(ended)),
            Input::Asked(Request::Stop, to) => {
                let _ = to.send(Answer { ok: true, ..self.answer() });
                return Err(Ending::stopped("it was stopped with `mo-spawn stop`"));
            }
            Input::Asked(Request::Finish, to) => {
                let _ = to.send(Answer { ok: true, ..self.answer() });
                self.finishing = true;
                // Between two turns there is nothing to finish.
                if !self.listening {
                    self.unless_finishing()?;
                }
            }
            Input::Asked(request, to) => self.asked(request, to),
            Input::Signal => return Err(Ending::stopped("it was stopped by a signal")),
            Input::Orphaned => return Err(Ending::stopped("whoever started it has gone")),
        }
        Ok(Step::Look)
    }

    /// Ends it where somebody wants its session.
    pub fn unless_finishing(&self) -> Result<(), Ending> {
        if self.finishing {
            return Err(Ending::of(Status::Cancelled, "attached", "its session was taken over"));
        }
        Ok(())
    }

    fn asked(&mut self, request: Request, to: Sender<Answer>) {
        let Request::Tell { text } = request else {
            let _ = to.send(Answer { ok: true, ..self.answer() });
            return;
        };
        self.journal.event(Kind::Message { from: "caller".to_owned(), text: flatten(&text, NOTE) });
        // Between two turns it would begin one of its own while the checks look at the work.
        if !self.listening {
            self.held.push(text);
            let _ = to.send(Answer { ok: true, ..self.answer() });
            return;
        }
        let uuid = shared::dispatch_id::new_session();
        self.say(&text, &uuid);
        self.pending.insert(uuid, to);
    }

    /// Says something to the worker.
    pub fn say(&mut self, text: &str, uuid: &str) {
        self.talk.told(uuid);
        if let Some(client) = &self.client {
            client.say(speech::message(text, &self.session, uuid));
        }
    }

    /// Where it stands.
    pub fn answer(&self) -> Answer {
        Answer {
            status: self.journal.record.status,
            turn: self.talk.turn,
            tool: self.talk.tool.clone(),
            text: self.talk.text.as_deref().map(|text| flatten(text, SHOWN)),
            ..Answer::default()
        }
    }

    fn hear(&mut self, frame: Frame) {
        self.talk.hear(&frame, Instant::now());
        match frame {
            Frame::Said(said) => self.said(&said),
            Frame::Counted { id, usage } => {
                self.meter.counted(&id, usage);
                self.used();
            }
            Frame::Denied(calls) => calls.iter().for_each(|call| self.deny(call, None)),
            Frame::Asks(asks) => self.decide(&asks),
            Frame::TooLong { request } => {
                if let Some(client) = &self.client {
                    client.say(speech::deny(&request, "this is too large to be looked at"));
                }
            }
            Frame::RateLimit(info) => {
                let resets = info.get("resetsAt").and_then(serde_json::Value::as_f64);
                let rejected = info.get("status").is_some_and(|status| status == "rejected");
                if let Some(seconds) = resets.filter(|_| rejected) {
                    self.talk.resets_at = Some(seconds as i64);
                }
                self.journal.plan(info);
            }
            Frame::Lifecycle { uuid, .. } => {
                if let Some(to) = self.pending.remove(&uuid) {
                    let _ = to.send(Answer { ok: true, ..self.answer() });
                }
            }
            Frame::Over(over) => {
                over.denied()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
                    .iter()
                    .for_each(|call| self.deny(call, None));
                self.talk.ended(*over, Instant::now());
            }
            Frame::Retry(retry) => self.journal.progress(self.talk.turn, None, Some(retry.text())),
            Frame::Init { .. } | Frame::Background(_) | Frame::Notified | Frame::Other => {}
        }
    }

    fn said(&mut self, said: &Said) {
        if let Some(id) = &said.id {
            self.meter.note(id, &said.model, said.usage);
            self.used();
        }
        if !said.main || said.error.is_some() {
            return;
        }
        if !said.text.trim().is_empty() {
            let text = flatten(&said.text, NOTE);
            self.journal.event(Kind::Message { from: "worker".to_owned(), text });
        }
        let text = Some(flatten(&said.text, SHOWN)).filter(|text| !text.is_empty());
        let tool = said.tools.last().map(|call| flatten(&call.name, SHOWN));
        let turn = self.talk.turn;
        self.journal.progress(turn, tool, text);
    }

    fn used(&mut self) {
        let money = (!self.meter.is_flat() && self.meter.unpriced().is_none()).then(|| self.meter.spent());
        self.journal.screen.used(self.meter.fresh(), money);
        self.journal.used(&self.meter);
    }

    fn decide(&mut self, asks: &Asks) {
        let Some(client) = &self.client else { return };
        match policy::decide(&self.policy, &asks.tool, &asks.input, &self.place.directory) {
            Verdict::Allow => client.say(speech::allow(&asks.request, &asks.input)),
            Verdict::Decline(why) => {
                client.say(speech::deny(&asks.request, &why));
                // Also told in frames that come later.
                self.denied.extend(asks.call.clone());
            }
            Verdict::Deny(why) => {
                client.say(speech::deny(&asks.request, &why));
                let denial = Denial { tool: flatten(&asks.tool, SHOWN), what: asks.what.clone() };
                self.deny(asks.call.as_deref().unwrap_or_default(), Some(denial));
            }
        }
    }

    /// Notes a denial once, however often it is told.
    fn deny(&mut self, call: &str, denial: Option<Denial>) {
        if !call.is_empty() && !self.denied.insert(call.to_owned()) {
            return;
        }
        let denial = denial.unwrap_or_else(|| {
            let call = self.talk.call(call);
            Denial {
                tool: call.map(|call| flatten(&call.name, SHOWN)).unwrap_or_default(),
                what: call.map(|call| call.what.clone()).unwrap_or_default(),
            }
        });
        self.journal.denied(denial);
    }

    fn within_limits(&self) -> Result<(), Ending> {
        let Limits { money, tokens, turns, output, .. } = self.task.limits;
        if let Some(limit) = output.filter(|limit| self.printed.load(Ordering::Relaxed) > *limit) {
            let text = format!("it printed more than {} bytes", shared::digits::grouped(limit.into()));
            return Err(Ending::of(Status::OutputLimit, "output", text));
        }
        if let Some(limit) = turns.filter(|limit| self.talk.turn > *limit) {
            return Err(Ending::of(Status::TurnLimit, "turns", format!("it needed more than {limit} turns")));
        }
        if let Some(limit) = tokens.filter(|limit| self.meter.fresh() >= *limit) {
            let text = format!("it used its {} tokens", shared::digits::grouped(limit.into()));
            return Err(Ending::of(Status::OverBudget, "tokens", text));
        }
        if let Some(limit) = money.filter(|_| !self.meter.is_flat()) {
            if let Some(model) = self.meter.unpriced() {
                let text =
                    format!("no price is known for `{}`, so no budget can be kept", flatten(model, 80));
                return Err(Ending::of(Status::OverBudget, "price", text));
            }
            if self.meter.spent() >= limit {
                return Err(Ending::of(Status::OverBudget, "money", format!("it used its {limit}")));
            }
        }
        Ok(())
    }

    /// Whoever still waits hears that it is over.
    pub fn dismiss(&mut self) {
        for to in std::mem::take(&mut self.pending).into_values() {
            let _ = to.send(refused("it ended before the worker took the message"));
        }
    }
}
