//! The keeper: two small processes between mo-spawn and Claude Code, so that no worker outlives whoever watches it.
//!
//! mo-spawn starts `outer`, that starts `inner`, that starts `last`, which becomes Claude Code. Each holds a socket
//! to the one above: its end means that the one above has died, and then whoever is left ends the worker. Outer and
//! inner adopt orphans (Linux) and hold the worker's place, so that it stays taken until the last process is gone.
//! When mo-spawn and both keepers die at once, Claude Code at least gets a signal from the kernel (Linux).

mod channel;
mod guard;
mod last;
mod orders;
mod start;

use std::io;
use std::process::ExitCode;

use shared::error::Error;
use shared::exit::Exit;
use shared::program;
use shared::say::Say;

pub use self::orders::Orders;
use self::orders::{Stage, WORD};
pub use self::start::{Ended, GRACE, Job, Kept, Streams, start};

/// Does a keeper's work where this process was started as one.
pub fn entered(say: Say) -> Option<ExitCode> {
    let mut words = program::arguments();
    if words.next().is_none_or(|word| word != WORD) {
        return None;
    }
    let Some(orders) = words.next().and_then(|word| Orders::read(&word)) else {
        return Some(program::end(say, Err(refused())));
    };
    let command: Vec<_> = words.collect();
    let kept = match orders.stage {
        Stage::Outer | Stage::Inner => guard::keep(&orders, &command),
        Stage::Last => last::run(&orders, &command),
    };
    Some(program::end(say, kept.map_err(|error| refused().because(&error)).map(|()| Exit::Done)))
}

fn refused() -> Error {
    Error::new(Exit::Usage, format!("{WORD} is for mo-spawn itself"))
}

/// A line from a stage to the one above.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Word {
    /// Claude Code runs as this process.
    Started(u32),
    /// The system does not start it: its error number.
    Failed(i32),
    /// Claude Code has ended: what the system says of a process that was waited for.
    Ended(i32),
}

impl Word {
    fn read(line: &str) -> Option<Self> {
        let (what, number) = line.trim_end().split_once(' ')?;
        match what {
            "started" => number.parse().ok().map(Self::Started),
            "failed" => number.parse().ok().map(Self::Failed),
            "ended" => number.parse().ok().map(Self::Ended),
            _ => None,
        }
    }

    /// Tells the stage above, if it still lives.
    fn tell(self, mut above: impl io::Write) {
        let line = match self {
            Self::Started(pid) => format!("started {pid}\n"),
            Self::Failed(number) => format!("failed {number}\n"),
            Self::Ended(status) => format!("ended {status}\n"),
        };
        let _ = above.write_all(line.as_bytes());
    }

    /// The error number of a failure, as near as it is known.
    fn failure(error: &io::Error) -> Self {
        Self::Failed(error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error()))
    }
}

#[cfg(test)]
mod tests {
    use super::Word;

    #[test]
    fn words_are_read_as_they_were_told() {
        for word in [Word::Started(7), Word::Failed(8), Word::Ended(256)] {
            let mut line = Vec::new();
            word.tell(&mut line);
            assert_eq!(Word::read(&String::from_utf8(line).unwrap()), Some(word));
        }
        assert_eq!(Word::read("ended\n"), None);
        assert_eq!(Word::read(""), None);
    }
}
