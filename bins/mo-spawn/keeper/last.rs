//! The last stage: it becomes Claude Code. What must hold for that process alone is done here.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;

use shared::env;

use super::orders::Orders;
use super::{Word, channel};
use crate::sandbox;

/// Only returns where it could not be done, having told why.
pub fn run(orders: &Orders, words: &[OsString]) -> io::Result<()> {
    let (above, passed) = channel::receive()?;
    let error = become_it(orders, words, passed);
    Word::failure(&error).tell(&above);
    Ok(())
}

fn become_it(orders: &Orders, words: &[OsString], passed: Vec<OwnedFd>) -> io::Error {
    let Some(((program, arguments), stdin)) = words.split_first().zip(passed.into_iter().next()) else {
        return io::ErrorKind::InvalidInput.into();
    };
    if let Err(error) = die_with(orders.above).and_then(|()| refuse_foreign(Path::new(program))) {
        return error;
    }
    let mut command = match sandbox::enter(orders.confinement.as_ref(), program) {
        Ok(command) => command,
        Err(error) => return error,
    };
    command.args(arguments).stdin(stdin);
    if let Some(dispatch) = &orders.dispatch {
        command.env(env::MO_DISPATCH, dispatch);
    }
    command.exec()
}

/// The last net: when both keepers and mo-spawn are killed at once, the kernel ends Claude Code. What it started
/// in other processes stays then, marked with the dispatch.
#[cfg(target_os = "linux")]
fn die_with(above: u32) -> io::Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before that.
    let alive = getppid().is_some_and(|parent| u32::try_from(parent.as_raw_nonzero().get()) == Ok(above));
    if alive { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail on Linux")]
fn die_with(_above: u32) -> io::Result<()> {
    Ok(())
}

/// Refuses what is no program and no script: the C library would hand it to a shell, line by line.
fn refuse_foreign(program: &Path) -> io::Result<()> {
    let mut head = Vec::new();
    File::open(program)?.take(64).read_to_end(&mut head)?;
    let number = |at: usize| head.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes);
    let is_program = if cfg!(target_os = "macos") {
        matches!(head.as_slice(), [0xca | 0xcf | 0xce, ..])
    } else {
        // The size of an entry in its table: of 64 bits, of 32.
        let fits = number(54) == Some(56) || number(42) == Some(32);
        head.starts_with(b"\x7fELF") && matches!(number(16), Some(2 | 3)) && fits
    };
    let is_script = head.starts_with(b"#!");
    if is_program || is_script { Ok(()) } else { Err(rustix::io::Errno::NOEXEC.into()) }
}
