//! The life of Claude Code's process under mo-spawn: started in its own group, signals passed on, its end
//! awaited, and nothing of it left behind.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use shared::claude;
use shared::env;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::outcome::Ending;
use shared::process;
use shared::world::World;
use signal_hook::consts::{SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::Signals;

use crate::journal::Journal;
use crate::launch::Launch;
use crate::sitting::Sitting;
use crate::slot;
use crate::verdict;

/// How long Claude Code gets to end after it was told to.
const GRACE: Duration = Duration::from_secs(10);

/// Signals that are passed on. The first four mean the end.
const PASSED_ON: [i32; 9] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT];

enum Event {
    Signal(i32),
    Ended(std::io::Result<ExitStatus>),
}

/// Runs it to its end. What is no session, and what a person at a terminal uses, becomes Claude Code itself.
pub fn run(world: &World, launch: &Launch) -> Result<Exit> {
    if launch.asked.sitting == Sitting::None {
        return Err(become_claude(launch));
    }
    let interactive = world.terminal.stdin && world.terminal.stdout && !launch.asked.print;
    if interactive {
        if let Some(mut journal) = Journal::open(world, launch)? {
            // By exec the process stays the same, and so does its mark.
            journal.started(std::process::id())?;
        }
        return Err(become_claude(launch));
    }
    let _slot = slot::take(&world.paths, &launch.worker)?;
    let mut journal = Journal::open(world, launch)?;
    process::adopt_orphans();
    // Before the start, so that no signal falls between.
    let signals = Signals::new(PASSED_ON)
        .map_err(|error| Error::new(Exit::Bug, "cannot watch signals").because(&error))?;
    let child = match command(launch).process_group(0).spawn() {
        Ok(child) => child,
        Err(error) => {
            let failed = claude::cannot_run(&launch.program, &error);
            if let Some(journal) = journal {
                journal.close(
                    world,
                    Ending { exit_code: Some(i32::from(failed.exit().code())), stopped: false },
                )?;
            }
            return Err(failed);
        }
    };
    let noted = journal.as_mut().map_or(Ok(()), |journal| journal.started(child.id()));
    let (status, stopped) = watch(child, signals)?;
    if !launch.keep_background {
        let mark =
            launch.dispatch.as_ref().map(|id| format!("{}={id}", env::MO_DISPATCH)).unwrap_or_default();
        process::end_descendants(&mark);
    }
    let code = exit_code(status);
    if let Some(journal) = journal {
        let ending = Ending { exit_code: Some(i32::from(code)), stopped };
        // The run counts whatever happens to its record: Claude Code's code is what the caller gets.
        match noted.and_then(|()| journal.close(world, ending)) {
            Ok(record) => verdict::tell(world, &record),
            Err(error) => world.say.error(&error),
        }
    }
    Ok(Exit::Child(code))
}

fn command(launch: &Launch) -> Command {
    let mut command = Command::new(&launch.program);
    command.args(&launch.arguments).env_clear().envs(launch.env.variables());
    command
}

/// Only returns when it fails.
fn become_claude(launch: &Launch) -> Error {
    let error = command(launch).exec();
    claude::cannot_run(&launch.program, &error)
}

/// Waits for the end, passing signals on to the whole group. After one that means the end there is a limit.
fn watch(mut child: Child, mut signals: Signals) -> Result<(ExitStatus, bool)> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (sender, events) = mpsc::channel();
    let ended = sender.clone();
    thread::spawn(move || ended.send(Event::Ended(child.wait())));
    thread::spawn(move || {
        for signal in signals.forever() {
            if sender.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    });
    let mut asked_to_end = 0;
    loop {
        let event = if asked_to_end == 0 {
            events.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            events.recv_timeout(GRACE)
        };
        match event {
            Ok(Event::Ended(status)) => {
                let status = status
                    .map_err(|error| Error::new(Exit::Bug, "cannot wait for Claude Code").because(&error))?;
                return Ok((status, asked_to_end > 0));
            }
            Ok(Event::Signal(signal)) => {
                asked_to_end += u32::from(matches!(signal, SIGINT | SIGTERM | SIGHUP | SIGQUIT));
                // Somebody who asks a third time does not want to wait any longer.
                pass_on(
                    group,
                    if asked_to_end > 2 { Some(Signal::KILL) } else { Signal::from_named_raw(signal) },
                );
            }
            Err(_) => pass_on(group, Some(Signal::KILL)),
        }
    }
}

fn pass_on(group: Option<Pid>, signal: Option<Signal>) {
    if let (Some(group), Some(signal)) = (group, signal) {
        // A group that has just ended needs no signal.
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// The code as a shell tells it: of a process that a signal ended, 128 and the signal.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code & 0xff).unwrap_or(1)
}
