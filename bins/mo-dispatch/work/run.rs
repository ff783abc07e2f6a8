//! One run: a mo-spawn that works on the task, what it tells on the way, and how it was stopped.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::{Pid, Signal};
use shared::env;
use shared::event::{Event, Kind};
use shared::flatten::flatten;
use shared::moment::Moment;
use shared::record::Record;
use shared::usage::{self, Overage};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::{Instant, sleep_until, timeout};

use crate::schedule::candidate::is_frontier_model;
use crate::schedule::guards::{Guards, Spending};
use crate::work::hub::Hub;
use crate::work::spent;
use crate::work::task::Stop;

/// How long a run that lost its caller may take to end its worker, before it is asked by signal, and then killed.
const GRACE: Duration = Duration::from_secs(20);
/// How long what is left in the pipe is read after the end.
const REST: Duration = Duration::from_millis(500);
/// The longest line that is read: the end of a run holds its record.
const LONGEST: u64 = 8 << 20;
/// The most complaints that are kept.
const COMPLAINTS: usize = 8;
/// How long asking an account may take.
const ASKING: Duration = Duration::from_secs(25);

/// What a run came to.
#[derive(Debug, Default)]
pub struct Finished {
    /// mo-spawn's exit code; nothing where it was killed.
    pub exit: Option<i32>,
    /// What it said that was no event.
    pub complaints: Vec<String>,
    /// The record as it told it at the end.
    pub record: Option<Record>,
    /// When a refused plan begins anew.
    pub resets_at: Option<Timestamp>,
}

/// What a run needs to know.
#[derive(Clone, Debug)]
pub struct Course {
    /// The task.
    pub id: String,
    /// The dispatch that works on it.
    pub run: String,
    /// Whether its models are Anthropic's own.
    pub anthropic: bool,
    /// The session that gave the task away.
    pub session: Option<String>,
    /// What may cost money.
    pub guards: Guards,
    /// What the day may cost.
    pub daily_usd: Option<f64>,
}

/// Runs mo-spawn with these words to its end.
pub async fn run(hub: &Arc<Hub>, course: &Course, words: Vec<std::ffi::OsString>) -> Finished {
    let mut command = Command::new(&hub.spawn);
    // A group of its own: what the terminal sends to the session is not for the workers.
    command.args(words).current_dir(&hub.workspace).process_group(0);
    if let Some(session) = &course.session {
        command.env(env::CLAUDE_CODE_SESSION_ID, session);
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.stdin(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let said = format!("cannot start {}: {error}", hub.spawn.display());
            return Finished { complaints: vec![said], ..Finished::default() };
        }
    };
    let mut finished = Finished::default();
    let stopping = hub.task(&course.id).map(|task| task.stopping);
    let mut caller = child.stdin.take();
    let Some(stderr) = child.stderr.take() else { return finished };
    let mut lines = Lines(BufReader::new(stderr), Vec::new());
    let mut steps = [Signal::TERM, Signal::KILL].into_iter();
    let mut deadline: Option<Instant> = None;
    loop {
        let stop = async {
            match &stopping {
                Some(stopping) if deadline.is_none() => stopping.notified().await,
                _ => std::future::pending().await,
            }
        };
        let late = async {
            match deadline {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            line = lines.next() => match line {
                Some(line) => take(hub, course, &mut finished, &line),
                None => break,
            },
            status = child.wait() => {
                finished.exit = status.ok().and_then(|status| status.code());
                // What it left behind may hold the pipe open: its last words are read, not waited for.
                while let Ok(Some(line)) = timeout(REST, lines.next()).await {
                    take(hub, course, &mut finished, &line);
                }
                return finished;
            }
            () = stop => {
                // Its caller has gone: it ends its worker and everything below.
                caller = None;
                deadline = Some(Instant::now() + GRACE);
            }
            () = late => {
                if let Some(signal) = steps.next() {
                    send(&child, signal);
                }
                deadline = Some(Instant::now() + GRACE);
            }
        }
    }
    // It closed its standard error before it ended; a stop still holds.
    let end = async {
        if let Some(stopping) = stopping.filter(|_| deadline.is_none()) {
            tokio::select! {
                status = child.wait() => return status,
                () = stopping.notified() => {}
            }
        }
        drop(caller.take());
        if let Ok(status) = timeout(GRACE, child.wait()).await {
            return status;
        }
        send(&child, Signal::KILL);
        child.wait().await
    };
    finished.exit = end.await.ok().and_then(|status| status.code());
    finished
}

/// Signals our own child: until it is waited for, its number is nobody else's.
fn send(child: &Child, signal: Signal) {
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Takes in one line of a run.
fn take(hub: &Arc<Hub>, course: &Course, finished: &mut Finished, line: &str) {
    let Some(event) = Event::parse(line) else {
        if finished.complaints.len() < COMPLAINTS && !line.trim().is_empty() {
            finished.complaints.push(flatten(line, 500));
        }
        return;
    };
    let now = hub.world.clock.now();
    match event.kind {
        Kind::End { record } => finished.record = Some(*record),
        Kind::Message { from, text } => hub.heard(&course.id, event.ts, flatten(&from, 32), text),
        Kind::RateLimit { info } => {
            if info.get("status").and_then(serde_json::Value::as_str) == Some("rejected") {
                finished.resets_at = info.get("resetsAt").and_then(Moment::of_value).map(|moment| moment.0);
            }
            if usage::of_event(&info, now).is_some_and(|reading| reading.overage == Overage::InUse) {
                finished.resets_at = info.get("resetsAt").and_then(Moment::of_value).map(|moment| moment.0);
                guard(hub, course, &Spending::Overage);
            }
        }
        Kind::Usage { ref model, .. } => {
            let model = model.clone();
            note(hub, course, &event.kind);
            if course.anthropic && is_frontier_model(&model) {
                guard(hub, course, &Spending::Frontier(model));
            }
            if let Some(cap) = course.daily_usd {
                spent::tell(hub, &course.id, &course.run);
                spent::bound(hub, cap, now);
            }
        }
        kind => note(hub, course, &kind),
    }
}

fn note(hub: &Hub, course: &Course, kind: &Kind) {
    let mut news = false;
    if let Some(task) = hub.state().tasks.get_mut(&course.id) {
        news = task.live.take(kind);
    }
    if news {
        hub.changed();
    }
}

fn guard(hub: &Hub, course: &Course, spending: &Spending) {
    if let Some(why) = spending.stops(course.guards) {
        let stop = match spending {
            Spending::Overage => Stop::Guarded(why),
            Spending::Frontier(_) => Stop::Frontier(why),
        };
        hub.stop(std::slice::from_ref(&course.id), &stop);
    }
}

/// Asks an account for its usage, through the only program that may.
pub async fn usage(hub: &Hub, worker: &str) {
    let mut command = Command::new(&hub.spawn);
    command.arg(worker).args(["--usage", "--json"]).process_group(0).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        // What it learnt stands in its file; what it did not stays unknown.
        let _ = timeout(ASKING, child.wait()).await;
    }
}

/// The lines of a pipe, each in bounded memory. A read that is dropped half-way loses nothing.
struct Lines(BufReader<ChildStderr>, Vec<u8>);

impl Lines {
    async fn next(&mut self) -> Option<String> {
        loop {
            let room = LONGEST.saturating_sub(self.1.len() as u64);
            match (&mut self.0).take(room).read_until(b'\n', &mut self.1).await {
                Ok(0) | Err(_) if self.1.is_empty() => return None,
                // The end of the input, or a line too long to be one of ours.
                Ok(0) | Err(_) => break,
                Ok(_) if self.1.ends_with(b"\n") => break,
                Ok(_) => {}
            }
        }
        // Whole lines only, so that no letter is cut in two.
        let line = String::from_utf8_lossy(&self.1).trim_end_matches('\n').to_owned();
        self.1.clear();
        Some(line)
    }
}
