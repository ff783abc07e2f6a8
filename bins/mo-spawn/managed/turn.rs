//! One turn of the worker: it is told something, and works until it is done. And the end of its process.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use shared::process;
use shared::record::Status;

use super::client::Client;
use super::ending::Ending;
use super::engine::{Engine, Step};
use super::journal;
use super::speech;
use super::talk::Idle;

/// How long Claude Code gets to end after it was told to.
const GRACE: Duration = Duration::from_secs(5);
/// How long one that has all it needs gets to end by itself.
const FAREWELL: Duration = Duration::from_secs(10);
/// How long its last words may take once it has ended: what it left running may hold its output open.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl Engine<'_> {
    /// Tells the worker something, and waits until it is done with it. A process that does not hear it is replaced by
    /// one that goes on with the session.
    pub fn turn(&mut self, text: &str) -> Result<(), Ending> {
        if self.client.as_ref().is_some_and(|client| client.gone) {
            self.end_client(true);
        }
        if self.client.is_some() {
            self.talk.over = None;
            let (turn, uuid) = (self.talk.turn, shared::dispatch_id::new_session());
            self.say(text, &uuid);
            if self.until_idle(Some(turn))? {
                return Ok(());
            }
            self.end_client(false);
        }
        self.talk.over = None;
        self.start(text, &shared::dispatch_id::new_session())?;
        self.until_idle(None).map(drop)
    }

    /// Tells whether the worker has heard it; only asked for where the turn before it is named.
    fn until_idle(&mut self, before: Option<u32>) -> Result<bool, Ending> {
        self.listening = true;
        let done = self.wait_until_idle(before);
        self.listening = false;
        done
    }

    fn wait_until_idle(&mut self, before: Option<u32>) -> Result<bool, Ending> {
        loop {
            let client = self.client.as_ref();
            if before == Some(self.talk.turn) && client.is_some_and(|client| client.deaf) {
                return Ok(false);
            }
            if client.is_none_or(|client| client.gone && client.silent) {
                return self.after_the_end().map(|()| true);
            }
            let until = match self.talk.idle(Instant::now(), self.task.keep_background) {
                Idle::Yes => return self.verdict().map(|()| true),
                Idle::No => None,
                Idle::At(at) => Some(at),
            };
            // One whose output is held open by others has still ended.
            let ended = client.is_some_and(|client| client.gone);
            match self.next(if ended { Some(Instant::now() + LAST_WORDS) } else { until })? {
                Step::Due if ended => return self.after_the_end().map(|()| true),
                _ => {}
            }
        }
    }

    /// What the last turn came to.
    fn verdict(&self) -> Result<(), Ending> {
        let Some(over) = &self.talk.over else { return Ok(()) };
        Ending::of_turn(&self.talk, over).map_or(Ok(()), Err)
    }

    /// It has ended, and nobody told it to.
    fn after_the_end(&mut self) -> Result<(), Ending> {
        self.talk.cut();
        if self.talk.over.is_some() {
            return self.verdict();
        }
        let client = self.client.as_ref();
        let how =
            client.and_then(|client| client.status).map(|status| format!(" ({status})")).unwrap_or_default();
        let why = client.and_then(Client::complaint).map(|line| format!(": {line}")).unwrap_or_default();
        Err(Ending::of(Status::Failed, "exit", format!("Claude Code ended without a result{how}{why}")))
    }

    fn start(&mut self, text: &str, uuid: &str) -> Result<(), Ending> {
        let first = speech::message(text, &self.session, uuid);
        let number = self.started + 1;
        let client = Client::start(
            &self.launch,
            self.sandbox.as_ref(),
            number,
            first,
            self.slot.as_ref(),
            &self.inbox,
            &self.printed,
        );
        let client = client.map_err(|error| Ending::of(Status::Failed, "start", error.to_string()))?;
        self.started = number;
        self.journal.started(client.pid);
        self.place.settle();
        self.client = Some(client);
        self.talk.told(uuid);
        self.resume_from_now_on();
        Ok(())
    }

    /// A session can be made once; from then on it is taken up.
    fn resume_from_now_on(&mut self) {
        if let Some(flag) = self.launch.arguments.first_mut().filter(|flag| *flag == "--session-id") {
            *flag = OsString::from("--resume");
        }
    }

    /// Ends Claude Code and everything it started: gently where it is done, else at once; and waits for it.
    pub fn end_client(&mut self, gently: bool) {
        let Some(client) = &mut self.client else { return };
        client.hang_up();
        if !gently {
            client.signal(Signal::TERM);
        }
        let mut killed = false;
        let mut until = Instant::now() + if gently { FAREWELL } else { GRACE };
        let mut asked = !gently;
        while self.client.as_ref().is_some_and(|client| !client.gone) {
            // Limits no longer matter here.
            let limits = std::mem::take(&mut self.deadline);
            let step = self.next(Some(until));
            self.deadline = limits;
            let Some(client) = &self.client else { break };
            match step {
                Ok(Step::Due) if killed => break,
                Ok(Step::Due) if asked => {
                    client.signal(Signal::KILL);
                    (killed, until) = (true, Instant::now() + GRACE);
                }
                Ok(Step::Due) => {
                    client.signal(Signal::TERM);
                    (asked, until) = (true, Instant::now() + GRACE);
                }
                // Somebody who asks again does not want to wait any longer.
                Err(ending) if ending.status == Status::Cancelled => {
                    client.signal(if asked { Signal::KILL } else { Signal::TERM });
                    asked = true;
                }
                _ => {}
            }
        }
        self.end_rest(gently);
        self.drain();
        self.client = None;
        self.talk.cut();
    }

    fn end_rest(&self, gently: bool) {
        if !(gently && self.task.keep_background) {
            let mark = self.launch.dispatch.as_ref().map(journal::mark).unwrap_or_default();
            process::end_descendants(&mark, process::GRACE);
        }
    }

    /// Hears what it had said before it ended.
    fn drain(&mut self) {
        let until = Instant::now() + LAST_WORDS;
        while self.client.as_ref().is_some_and(|client| !client.silent) {
            let limits = std::mem::take(&mut self.deadline);
            let step = self.next(Some(until));
            self.deadline = limits;
            if matches!(step, Ok(Step::Due)) {
                return;
            }
        }
    }
}
