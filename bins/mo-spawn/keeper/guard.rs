//! The life of a keeper: it starts the stage below and waits for its end, or for the end of the one above.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, WaitOptions};
use shared::process;

use super::orders::{Orders, Stage};
use super::start::{GRACE, start_below};
use super::{Word, channel};
use crate::supervise::PASSED_ON;

enum Event {
    /// The process below has ended.
    Ended(i32),
    /// The stage above has died.
    Orphaned,
}

/// Keeps the worker until it and everything below it is gone.
pub fn keep(orders: &Orders, words: &[OsString]) -> io::Result<()> {
    let (above, passed) = channel::receive()?;
    outlive_signals()?;
    process::adopt_orphans();
    let mut passed = passed.into_iter();
    let (stdin, place) = (passed.next(), passed.next());
    // The place is held by keepers only: the worker's own process does not get it.
    let handed_on = place.as_ref().filter(|_| orders.stage == Stage::Outer);
    let descriptors: Vec<_> = stdin.iter().chain(handed_on).map(AsFd::as_fd).collect();
    let started = start_below(orders, words, &descriptors);
    // The worker's streams are its own now: whoever waits for their end must not wait for us.
    drop(stdin);
    release_streams()?;
    let (child, mut below) = match started {
        Ok((child, socket)) => (child, BufReader::new(socket)),
        Err(error) => {
            Word::failure(&error).tell(&above);
            return Ok(());
        }
    };
    let Some(pid) = running(orders, &child, &mut below, &above)? else { return Ok(()) };
    let (sender, events) = mpsc::channel();
    watch_below(child.id(), sender.clone());
    watch_above(&above, sender)?;
    let (status, orphaned) = until_ended(orders, pid, &events);
    let status = match orders.stage {
        Stage::Inner => Some(status),
        _ => ended(&mut below)?,
    };
    if orphaned || status.is_none() || !orders.keep_background {
        process::end_descendants(&orders.mark(), process::GRACE);
    }
    if let Some(status) = status {
        Word::Ended(status).tell(&above);
    }
    drop(place);
    Ok(())
}

/// Only the worker gets signals. A handler, unlike ignoring them, is not passed on to it.
fn outlive_signals() -> io::Result<()> {
    let nobody_looks = Arc::new(AtomicBool::new(false));
    for signal in PASSED_ON {
        signal_hook::flag::register(signal, Arc::clone(&nobody_looks))?;
    }
    // The name in `ps` and for `killall`; only a name.
    let _ = fs::write("/proc/self/comm", "mo-keeper");
    Ok(())
}

fn release_streams() -> io::Result<()> {
    let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

/// Claude Code's process, and the word above that it runs; nothing where it does not.
fn running(
    orders: &Orders,
    child: &Child,
    below: &mut BufReader<UnixStream>,
    above: &UnixStream,
) -> io::Result<Option<u32>> {
    let mut line = String::new();
    below.read_line(&mut line)?;
    let word = match (orders.stage, Word::read(&line)) {
        // The last stage says nothing when it becomes Claude Code: its end of the socket closes.
        (Stage::Inner, None) => Word::Started(child.id()),
        (_, Some(word)) => word,
        (_, None) => {
            process::end_descendants(&orders.mark(), process::GRACE);
            return Ok(None);
        }
    };
    word.tell(above);
    Ok(match word {
        Word::Started(pid) => Some(pid),
        _ => None,
    })
}

/// What the keeper below said of Claude Code's end before its own.
fn ended(below: &mut BufReader<UnixStream>) -> io::Result<Option<i32>> {
    let mut said = String::new();
    below.read_to_string(&mut said)?;
    Ok(said.lines().find_map(|line| match Word::read(line) {
        Some(Word::Ended(status)) => Some(status),
        _ => None,
    }))
}

/// Takes leave of every process that ends below us, orphans too, so that none stays a zombie.
fn watch_below(child: u32, events: Sender<Event>) {
    thread::spawn(move || {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::empty()) {
            let is_it = u32::try_from(pid.as_raw_nonzero().get()) == Ok(child);
            if is_it && events.send(Event::Ended(status.as_raw())).is_err() {
                return;
            }
        }
    });
}

/// Nothing ever comes from above but the end.
fn watch_above(above: &UnixStream, events: Sender<Event>) -> io::Result<()> {
    let mut above = above.try_clone()?;
    thread::spawn(move || {
        let mut byte = [0];
        while matches!(above.read(&mut byte), Ok(1..)) {}
        let _ = events.send(Event::Orphaned);
    });
    Ok(())
}

/// Waits for the end of the process below. Of a worker that nobody watches any more the end is brought about:
/// it is asked, and after a time of grace everything below us is killed.
fn until_ended(orders: &Orders, pid: u32, events: &mpsc::Receiver<Event>) -> (i32, bool) {
    let mut deadline = None;
    loop {
        let event = match deadline {
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(deadline) => {
                events.recv_timeout(Instant::saturating_duration_since(&deadline, Instant::now()))
            }
        };
        match event {
            Ok(Event::Ended(status)) => return (status, deadline.is_some()),
            Ok(Event::Orphaned) => {
                if let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                    // A group that has just ended needs no signal.
                    let _ = rustix::process::kill_process_group(group, Signal::TERM);
                }
                deadline = Some(Instant::now() + GRACE);
            }
            Err(_) => {
                process::kill_descendants(&orders.mark());
                return (Signal::KILL.as_raw(), true);
            }
        }
    }
}
