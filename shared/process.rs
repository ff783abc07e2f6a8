//! Processes, as the system knows them: when one started, which ones descend from it, how to end them all.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};

/// How long processes get to end by themselves before they are killed.
pub const GRACE: Duration = Duration::from_secs(2);
/// How long killed processes may take to vanish.
const LAST_WAIT: Duration = Duration::from_secs(2);
/// Pauses between looks.
const PAUSE: Duration = Duration::from_millis(5);

/// The system's own mark of when this process started; with the pid it names a process for ever.
#[cfg(target_os = "linux")]
pub fn start_time(pid: u32) -> Option<String> {
    // The 22nd field; the second is a name in brackets that may hold anything.
    let stat = stat(pid)?;
    let mut fields = stat.split_whitespace();
    // One that has ended and was not waited for does nothing any more: some containers have nobody who does.
    let lives = fields.next().is_some_and(|state| state != "Z" && state != "X");
    fields.nth(18).filter(|_| lives).map(str::to_owned)
}

/// What stands after the name in /proc/PID/stat: state, parent, …
#[cfg(target_os = "linux")]
fn stat(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(") ").map(|(_, rest)| rest.to_owned())
}

/// The system's own mark of when this process started; with the pid it names a process for ever.
#[cfg(not(target_os = "linux"))]
pub fn start_time(pid: u32) -> Option<String> {
    ps(&["-o", "lstart=", "-p", &pid.to_string()])
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}

#[cfg(not(target_os = "linux"))]
fn ps(words: &[&str]) -> Option<String> {
    let output = std::process::Command::new("/bin/ps").args(words).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether this very process runs: a number alone may have been given again.
pub fn is(pid: u32, started: Option<&str>) -> bool {
    started.is_some() && start_time(pid).as_deref() == started
}

/// Sends a signal to this very process, or to nobody. Tells whether it was there.
pub fn signal_proven(pid: u32, started: Option<&str>, signal: Signal) -> bool {
    let Some(target) = as_pid(pid) else { return false };
    // Held open, the process cannot be mistaken for a later one of its number.
    #[cfg(target_os = "linux")]
    if let Ok(held) = rustix::process::pidfd_open(target, rustix::process::PidfdFlags::empty()) {
        return is(pid, started) && rustix::process::pidfd_send_signal(held, signal).is_ok();
    }
    is(pid, started) && rustix::process::kill_process(target, signal).is_ok()
}

/// From now on, orphans below this process become its children, so that none is lost from sight.
/// Elsewhere than on Linux they are found by the mark in their environment.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        // Refused only by kernels older than 3.4.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// All processes below this one that are still alive.
#[cfg(target_os = "linux")]
pub fn descendants(_mark: &str) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let parents: Vec<(u32, u32)> = pids
        .filter_map(|pid| {
            let stat = stat(pid)?;
            let mut fields = stat.split_whitespace();
            let state = fields.next()?;
            let parent = fields.next()?.parse().ok()?;
            (state != "Z").then_some((pid, parent))
        })
        .collect();
    let mut below = vec![std::process::id()];
    let mut at = 0;
    while let Some(&parent) = below.get(at) {
        below.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    below.into_iter().skip(1).filter_map(as_pid).collect()
}

/// All processes that carry the mark `NAME=VALUE` in their environment, but this one.
#[cfg(not(target_os = "linux"))]
pub fn descendants(mark: &str) -> Vec<Pid> {
    let own = std::process::id();
    let list = ps(&["-axEww", "-o", "pid=,command="]).unwrap_or_default();
    let marked = list.lines().filter(|line| line.split_whitespace().any(|word| word == mark));
    let pids = marked.filter_map(|line| line.split_whitespace().next()?.parse::<u32>().ok());
    pids.filter(|&pid| pid != own).filter_map(as_pid).collect()
}

fn as_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Ends everything that is left below this process: asks each, waits, kills. Tells how many there were.
pub fn end_descendants(mark: &str, grace: Duration) -> usize {
    let mut asked = BTreeSet::new();
    let gone = all_gone(mark, grace, |pid| {
        if asked.insert(pid.as_raw_nonzero()) {
            signal(pid, Signal::TERM);
        }
    });
    if !gone {
        kill_descendants(mark);
    }
    asked.len()
}

/// Kills everything that is left below this process, also what is started meanwhile.
pub fn kill_descendants(mark: &str) {
    all_gone(mark, LAST_WAIT, |pid| signal(pid, Signal::KILL));
}

fn signal(pid: Pid, signal: Signal) {
    // One that ended meanwhile is what we want.
    let _ = rustix::process::kill_process(pid, signal);
}

/// Looks until nothing is left, or patience is, and does this to all that each look finds.
fn all_gone(mark: &str, patience: Duration, mut act: impl FnMut(Pid)) -> bool {
    let start = Instant::now();
    loop {
        if !reap() {
            return true;
        }
        let left = descendants(mark);
        // Between two processes' entries a third can end, and what is below it is not found in that look: where
        // the system knows our children, only it says that there are none.
        if left.is_empty() && cfg!(not(target_os = "linux")) {
            return true;
        }
        left.into_iter().for_each(&mut act);
        if start.elapsed() >= patience {
            return false;
        }
        thread::sleep(PAUSE);
    }
}

/// Takes leave of children that have ended: adopted orphans have no other parent to do it. Tells whether there can be
/// any process below this one: to a subreaper every one of them comes up in time.
fn reap() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return cfg!(not(target_os = "linux")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_reaches_the_very_process_or_nobody() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let started = start_time(child.id());
        assert!(!signal_proven(child.id(), Some("another time"), Signal::KILL));
        assert!(!signal_proven(child.id(), None, Signal::KILL));
        assert!(child.try_wait().unwrap().is_none());
        assert!(signal_proven(child.id(), started.as_deref(), Signal::KILL));
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn one_that_has_ended_and_was_not_waited_for_is_none() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = Pid::from_child(&child);
        // Ended, and left as it is.
        let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(pid), options).unwrap();
        assert_eq!(start_time(child.id()), None);
        child.wait().unwrap();
    }

    #[test]
    fn a_process_has_a_start_mark_and_a_missing_one_has_none() {
        let own = std::process::id();
        assert!(start_time(own).is_some());
        assert_eq!(start_time(own), start_time(own));
        assert_eq!(start_time(u32::MAX - 1), None);
    }
}
