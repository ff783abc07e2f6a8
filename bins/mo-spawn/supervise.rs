//! The life of Claude Code's process under mo-spawn: started under a keeper, in its own group, signals passed on,
//! and its end awaited.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use rustix::process::{Pid, Signal};
use shared::claude;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::outcome::Ending;
use shared::process;
use shared::world::World;
use signal_hook::consts::{SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::Signals;

use crate::dispatches::retention;
use crate::journal::Journal;
use crate::keeper::{self, Ended, GRACE, Job, Kept, Orders, Streams};
use crate::launch::Launch;
use crate::sandbox::Sandbox;
use crate::sitting::Sitting;
use crate::slot;
use crate::verdict;

/// Signals that are passed on. The first four mean the end.
pub const PASSED_ON: [i32; 9] =
    [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT];

enum Event {
    Signal(i32),
    Ended(std::io::Result<Ended>),
}

/// Runs it to its end. What is no session, and what a person at a terminal uses, becomes Claude Code itself.
pub fn run(world: &World, launch: &Launch) -> Result<Exit> {
    let interactive = world.terminal.stdin && world.terminal.stdout && !launch.asked.print;
    if launch.sandbox.is_some() && (interactive || launch.asked.sitting == Sitting::None) {
        return Err(Error::new(Exit::Usage, "--sandbox is for runs that end by themselves")
            .hint("add -p and a prompt among Claude Code's arguments"));
    }
    if launch.asked.sitting == Sitting::None {
        return Err(become_claude(launch));
    }
    if interactive {
        if let Some(mut journal) = Journal::open(world, launch)? {
            // By exec the process stays the same, and so does its mark.
            journal.started(std::process::id())?;
        }
        return Err(become_claude(launch));
    }
    let slot = slot::take(&world.paths, &launch.worker)?;
    let sandbox = Sandbox::of(world, launch)?;
    let mut journal = Journal::open(world, launch)?;
    process::adopt_orphans();
    // Before the start, so that no signal falls between.
    let signals = Signals::new(PASSED_ON)
        .map_err(|error| Error::new(Exit::Bug, "cannot watch signals").because(&error))?;
    let orders = Orders::new(launch.dispatch.as_ref().map(ToString::to_string), launch.keep_background)
        .within(sandbox.as_ref());
    let started = Streams::inherited()
        .and_then(|streams| keeper::start(&Job::of(launch), &orders, streams, slot.as_ref()));
    let kept = match started {
        Ok(kept) => kept,
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
    let noted = journal.as_mut().map_or(Ok(()), |journal| journal.started(kept.pid));
    let (status, stopped) = watch(kept, signals)?;
    if let Some(sandbox) = &sandbox {
        sandbox.mend().iter().for_each(|note| world.say.note(note));
    }
    let code = exit_code(status);
    if let Some(journal) = journal {
        let ending = Ending { exit_code: Some(i32::from(code)), stopped };
        // The run counts whatever happens to its record: Claude Code's code is what the caller gets.
        match noted.and_then(|()| journal.close(world, ending)) {
            Ok(record) => verdict::tell(world, &record),
            Err(error) => world.say.error(&error),
        }
        retention::now_and_then(world);
    }
    Ok(Exit::Child(code))
}

/// Only returns when it fails.
fn become_claude(launch: &Launch) -> Error {
    let mut command = Command::new(&launch.program);
    let error = command.args(&launch.arguments).env_clear().envs(launch.env.variables()).exec();
    claude::cannot_run(&launch.program, &error)
}

/// Waits for the end, passing signals on to the whole group. After one that means the end there is a limit.
fn watch(kept: Kept, mut signals: Signals) -> Result<(ExitStatus, bool)> {
    let group = i32::try_from(kept.pid).ok().and_then(Pid::from_raw);
    let (sender, events) = mpsc::channel();
    let ended = sender.clone();
    thread::spawn(move || ended.send(Event::Ended(kept.wait())));
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
            Ok(Event::Ended(ended)) => {
                let ended = ended
                    .map_err(|error| Error::new(Exit::Bug, "cannot wait for Claude Code").because(&error))?;
                return Ok((ended.status, ended.keeper_lost || asked_to_end > 0));
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
