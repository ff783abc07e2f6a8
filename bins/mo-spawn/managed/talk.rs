//! The conversation with a worker, as far as its frames tell: the turn, the tool at work, the last words, and whether
//! it is done. A pause while subagents run is not the end.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use shared::api_failure::ApiFailure;

use super::frame::{Background, Call, Frame, Over, Said};

/// How long a shell in the background is waited for once the worker is done otherwise.
const SHELL: Duration = Duration::from_secs(60);
/// How long the turn that a notification announces may take to begin, and the client to say that it is done.
const SETTLE: Duration = Duration::from_secs(5);
/// How many calls are remembered, to name those that are denied.
const CALLS: usize = 64;

/// Whether the worker is done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Idle {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// It is, unless something comes before this time.
    At(Instant),
}

/// What is known of the conversation.
#[derive(Debug, Default)]
pub struct Talk {
    /// The answers of the model in the main conversation.
    pub turn: u32,
    /// The tool at work.
    pub tool: Option<String>,
    /// What the worker said last.
    pub text: Option<String>,
    /// How the last turn ended.
    pub over: Option<Over>,
    /// The last API error, unless it went on after it.
    pub error: Option<ApiFailure>,
    /// When the quota is renewed, in seconds since 1970.
    pub resets_at: Option<i64>,
    /// Which Claude Code.
    pub version: Option<String>,
    message: Option<String>,
    calls: VecDeque<Call>,
    open: BTreeSet<String>,
    background: Vec<Background>,
    /// Whether the client tells what becomes of our messages; older ones do not.
    tells: bool,
    /// Since when nothing is going on.
    quiet: Option<Instant>,
    expecting: bool,
}

impl Talk {
    /// A message of ours is on its way to the worker.
    pub fn told(&mut self, uuid: &str) {
        self.open.insert(uuid.to_owned());
        self.busy();
    }

    /// The process has gone: what it had not finished it never will.
    pub fn cut(&mut self) {
        self.open.clear();
        self.background.clear();
        self.tool = None;
    }

    fn busy(&mut self) {
        self.quiet = None;
        self.expecting = false;
        self.over = None;
    }

    /// Takes in what the worker says.
    pub fn hear(&mut self, frame: &Frame, now: Instant) {
        match frame {
            Frame::Init { version } => {
                self.version = version.clone().or(self.version.take());
                self.busy();
            }
            Frame::Said(said) => self.said(said),
            Frame::Background(tasks) => self.background.clone_from(tasks),
            // Within a turn it is heard there; otherwise a turn about it begins.
            Frame::Notified if self.quiet.is_some() => {
                self.quiet = Some(now);
                self.expecting = true;
            }
            Frame::Lifecycle { uuid, state } => {
                self.tells = true;
                if matches!(state.as_str(), "completed" | "cancelled") {
                    self.open.remove(uuid);
                }
            }
            _ => {}
        }
    }

    /// A turn is over.
    pub fn ended(&mut self, over: Over, now: Instant) {
        if let Some(failure) = over.api_failure() {
            // The frame before it may know more.
            self.error.get_or_insert(failure);
        }
        self.over = Some(over);
        self.tool = None;
        self.quiet = Some(now);
        self.expecting = false;
    }

    fn said(&mut self, said: &Said) {
        for call in &said.tools {
            if self.calls.len() == CALLS {
                self.calls.pop_front();
            }
            self.calls.push_back(call.clone());
        }
        if !said.main {
            return;
        }
        if let Some(error) = &said.error {
            self.error = Some(error.clone());
            self.resets_at = said.resets_at.or(self.resets_at);
            return;
        }
        self.busy();
        self.error = None;
        if said.id != self.message {
            self.turn += 1;
            self.message.clone_from(&said.id);
        }
        if let Some(call) = said.tools.last() {
            self.tool = Some(call.name.clone());
        }
        if !said.text.trim().is_empty() {
            self.text = Some(said.text.clone());
        }
    }

    /// A call that was made before.
    pub fn call(&self, id: &str) -> Option<&Call> {
        self.calls.iter().rev().find(|call| call.id == id)
    }

    /// Whether the worker is done. What it left in the background is waited for; a shell, which may never end, for a
    /// while only, and not where it may stay.
    pub fn idle(&self, now: Instant, shells_stay: bool) -> Idle {
        let (Some(since), Some(over)) = (self.quiet, &self.over) else { return Idle::No };
        let until = |patience: Duration| {
            let at = since + patience;
            if at <= now { Idle::Yes } else { Idle::At(at) }
        };
        if self.expecting || (self.tells && !self.open.is_empty()) {
            return until(SETTLE);
        }
        if over.is_error {
            return Idle::Yes;
        }
        if self.background.iter().any(|task| !task.is_shell()) {
            return Idle::No;
        }
        if self.background.is_empty() || shells_stay { Idle::Yes } else { until(SHELL) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn background(kind: &str) -> Frame {
        Frame::Background(vec![Background { task_type: kind.to_owned() }])
    }

    fn life(state: &str) -> Frame {
        Frame::Lifecycle { uuid: "u".into(), state: state.into() }
    }

    fn said() -> Frame {
        Frame::Said(Said { id: Some("m".into()), main: true, text: "x".into(), ..Said::default() })
    }

    #[test]
    fn it_is_done_when_the_turn_is_over_and_every_message_is_dealt_with() {
        let now = Instant::now();
        let mut talk = Talk::default();
        talk.told("u");
        talk.hear(&life("queued"), now);
        talk.hear(&said(), now);
        assert_eq!((talk.turn, talk.idle(now, false)), (1, Idle::No));
        talk.ended(Over::default(), now);
        assert_eq!(talk.idle(now, false), Idle::At(now + SETTLE));
        talk.hear(&life("completed"), now);
        assert_eq!(talk.idle(now, false), Idle::Yes);
        talk.told("v");
        assert_eq!(talk.idle(now, false), Idle::No);
    }

    #[test]
    fn a_client_that_never_tells_of_our_messages_is_done_with_its_turn() {
        let now = Instant::now();
        let mut talk = Talk::default();
        talk.told("u");
        talk.ended(Over::default(), now);
        assert_eq!(talk.idle(now, false), Idle::Yes);
    }

    #[test]
    fn a_pause_while_a_subagent_runs_is_not_the_end() {
        let now = Instant::now();
        let mut talk = Talk::default();
        talk.hear(&background("local_agent"), now);
        talk.ended(Over::default(), now);
        assert_eq!(talk.idle(now + SHELL, false), Idle::No);
        talk.hear(&Frame::Notified, now);
        talk.hear(&Frame::Background(Vec::new()), now);
        assert_eq!(talk.idle(now, false), Idle::At(now + SETTLE));
        talk.hear(&Frame::Init { version: None }, now);
        assert_eq!(talk.idle(now + SETTLE, false), Idle::No);
        talk.ended(Over::default(), now);
        assert_eq!(talk.idle(now, false), Idle::Yes);
    }

    #[test]
    fn a_shell_is_waited_for_only_so_long() {
        let now = Instant::now();
        let mut talk = Talk::default();
        talk.hear(&background("local_bash"), now);
        talk.ended(Over::default(), now);
        assert_eq!(talk.idle(now, false), Idle::At(now + SHELL));
        assert_eq!(talk.idle(now + SHELL, false), Idle::Yes);
        assert_eq!(talk.idle(now, true), Idle::Yes);
    }
}
