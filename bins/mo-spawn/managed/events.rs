//! Where the events of a dispatch go: their file beside the record, and whoever drives us. Nobody who reads slowly
//! holds up the work.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;

use rustix::fs::OFlags;
use shared::error::{Error, Result};
use shared::event::Event;
use shared::exit::Exit;
use shared::file::PRIVATE;

use super::inbox::helper;

/// How many lines may wait for a slow reader; more are only in the file.
const WAITING: usize = 1024;
/// How long the last lines may take to be read.
const LAST: Duration = Duration::from_secs(2);

/// The sinks.
#[derive(Debug)]
pub struct Events {
    file: File,
    other: Option<Other>,
}

#[derive(Debug)]
struct Other {
    lines: SyncSender<Vec<u8>>,
    done: Receiver<()>,
}

impl Events {
    /// Opens the file, and what `--events` names.
    pub fn open(path: &Path, asked: Option<&str>) -> Result<Self> {
        let file = append(path)?;
        let other = match asked {
            None => None,
            Some(asked) => Some(Other::start(sink(asked)?)?),
        };
        Ok(Self { file, other })
    }

    /// Tells an event. A full disk or a reader that left costs the event, not the work.
    pub fn tell(&mut self, event: &Event) {
        let mut line = Vec::with_capacity(256);
        if event.write(&mut line).is_err() {
            return;
        }
        let _ = self.file.write_all(&line);
        if let Some(other) = &self.other {
            let _ = other.lines.try_send(line);
        }
    }

    /// Waits until a reader has the last lines, if it reads at all.
    pub fn close(&mut self) {
        if let Some(Other { lines, done }) = self.other.take() {
            drop(lines);
            let _ = done.recv_timeout(LAST);
        }
    }
}

impl Other {
    fn start(mut sink: File) -> Result<Self> {
        let (lines, waiting) = mpsc::sync_channel::<Vec<u8>>(WAITING);
        let (told, done) = mpsc::sync_channel(1);
        helper(move || {
            for line in waiting {
                if sink.write_all(&line).is_err() {
                    break;
                }
            }
            let _ = told.send(());
        })?;
        Ok(Self { lines, done })
    }
}

fn append(path: &Path) -> Result<File> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(PRIVATE)
        .custom_flags(flags)
        .open(path)
        .map_err(|error| Error::io("cannot write", path, &error))
}

/// `fd:N`, or a file.
fn sink(asked: &str) -> Result<File> {
    let Some(number) = asked.strip_prefix("fd:") else { return append(Path::new(asked)) };
    let number: u32 = number
        .parse()
        .map_err(|_| Error::new(Exit::Usage, "--events fd:N needs the number of a descriptor"))?;
    // The system opens it once more: whatever stands behind the number, we hold one of our own.
    let path = format!("/dev/fd/{number}");
    OpenOptions::new().append(true).open(&path).map_err(|error| {
        Error::new(Exit::Usage, format!("cannot write to --events fd:{number}"))
            .because(&error)
            .hint("it must be an open pipe or file of the program that starts mo-spawn")
    })
}

#[cfg(test)]
mod tests {
    use shared::event::Kind;
    use shared::record::Status;

    use super::*;

    #[test]
    fn a_reader_that_never_reads_holds_nothing_up_and_the_file_has_all() {
        let home = tempfile::tempdir().unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        let file = append(&home.path().join("e")).unwrap();
        let mut events =
            Events { file, other: Some(Other::start(std::os::fd::OwnedFd::from(writer).into()).unwrap()) };
        let event =
            Event::new("2026-02-03T04:05:06Z".parse().unwrap(), "d-1", Kind::State { status: Status::Done });
        for _ in 0..5000 {
            events.tell(&event);
        }
        events.close();
        drop(reader);
        assert_eq!(std::fs::read_to_string(home.path().join("e")).unwrap().lines().count(), 5000);
        assert_eq!(sink("fd:x").unwrap_err().exit(), Exit::Usage);
    }
}
