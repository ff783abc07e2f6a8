//! The file that grows: lines are chained and appended, whole ones only, whatever the disk does.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use shared::audit_files::{self as files, AuditFile, CURRENT, OLDER, PLAIN};
use shared::audit_line::AuditLine;
use shared::clock::rfc3339;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file;
use shared::lock::Lock;

use super::{chain, pack};

/// How much of the file's end is looked at for its last line.
const TAIL: u64 = 2 << 20;

/// How the files are kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Keeping {
    /// The size from which on a new file begins, in bytes.
    pub largest: u64,
    /// For how many days older files are kept.
    pub days: u32,
}

impl Default for Keeping {
    fn default() -> Self {
        Self { largest: 64 << 20, days: 90 }
    }
}

/// The audit of one gateway; only one writes at a time.
#[derive(Debug)]
pub struct Journal {
    directory: PathBuf,
    keeping: Keeping,
    file: File,
    /// The bytes of all whole lines; what stands behind them was torn.
    length: u64,
    /// The day of the file's first line, `yyyy-mm-dd`.
    day: String,
    head: String,
    /// Lines that could not be written since the last one that was.
    lost: u64,
    _lock: Lock,
}

impl Journal {
    /// Takes up the audit in this directory where it ended.
    pub fn open(directory: &Path, keeping: Keeping, now: Timestamp) -> Result<Self> {
        file::create_private_dir(directory)?;
        let lock = Lock::try_acquire(&directory.join("audit.lock"))?.ok_or_else(|| {
            Error::new(Exit::Busy, "another mo-proxy writes the audit in")
                .at(directory)
                .hint("mo-proxy status shows it")
        })?;
        let path = directory.join(CURRENT);
        let file = create(&path)?;
        let mut journal = Self {
            directory: directory.to_owned(),
            keeping,
            file,
            length: 0,
            day: day(now),
            head: chain::BEGINNING.to_owned(),
            lost: 0,
            _lock: lock,
        };
        journal.take_up(&path)?;
        pack::resume(directory);
        Ok(journal)
    }

    /// Finds the last whole line and cuts off what stands behind it.
    fn take_up(&mut self, path: &Path) -> Result<()> {
        let failed = |error: io::Error| Error::io("cannot read", path, &error);
        let size = self.file.metadata().map_err(failed)?.len();
        let from = size.saturating_sub(TAIL);
        let mut tail = vec![0; usize::try_from(size - from).unwrap_or_default()];
        self.file.read_exact_at(&mut tail, from).map_err(failed)?;
        let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.length = if whole == 0 && from > 0 { size } else { from + whole as u64 };
        if self.length < size {
            self.file.set_len(self.length).map_err(failed)?;
        }
        let last = tail.get(..whole.saturating_sub(1)).unwrap_or_default();
        let last = last.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        match chain::open(last) {
            Some((line, hash)) => {
                self.head = hash;
                // A file is of the day of its end: a new day begins a new file.
                line.ts.get(..10).unwrap_or_default().clone_into(&mut self.day);
            }
            // A last line that is not ours is left as it is: `audit verify` tells it. The chain goes on from the
            // newest line that is.
            None => self.head = self.newest_head(),
        }
        Ok(())
    }

    fn newest_head(&self) -> String {
        let mut all = files::list(&self.directory);
        while let Some(file) = all.pop() {
            if let Some(hash) = last_hash(&file) {
                return hash;
            }
        }
        chain::BEGINNING.to_owned()
    }

    /// The hash of the last line: whoever notes it can prove later that nothing before it was changed.
    #[cfg(test)]
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Lines that wait to be told as lost.
    #[cfg(test)]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Notes lines that never came here because the queue was full.
    pub fn missed(&mut self, lines: u64) {
        self.lost += lines;
    }

    /// Appends the lines, all of them or none; none leaves the file as it was.
    pub fn append(&mut self, lines: &mut [AuditLine], now: Timestamp) -> Result<()> {
        if self.length > 0 && (self.length >= self.keeping.largest || self.day != day(now)) {
            // Where there is no room for a new file, the old one goes on.
            if let Err(error) = self.rotate(now) {
                self.lost += lines.len() as u64;
                return Err(error);
            }
        }
        let mut head = self.head.clone();
        let mut bytes = Vec::with_capacity(lines.len() * 512);
        let mut lost = self.lost;
        for line in lines.iter_mut() {
            line.prev_hash = head;
            line.lost = std::mem::take(&mut lost);
            let (text, hash) = chain::seal(line)?;
            bytes.extend_from_slice(text.as_bytes());
            head = hash;
        }
        if let Err(error) = self.file.write_all_at(&bytes, self.length) {
            // What did get on the disk is no whole batch.
            let _ = self.file.set_len(self.length);
            self.lost += lines.len() as u64;
            return Err(Error::io("cannot write the audit", &self.directory.join(CURRENT), &error));
        }
        self.length += bytes.len() as u64;
        self.head = head;
        self.lost = 0;
        Ok(())
    }

    fn rotate(&mut self, now: Timestamp) -> Result<()> {
        let path = self.directory.join(CURRENT);
        let failed = |error: io::Error| Error::io("cannot begin a new audit file beside", &path, &error);
        self.file.sync_all().map_err(failed)?;
        let stamp: String = rfc3339(now).chars().filter(char::is_ascii_alphanumeric).collect();
        // Of several in a millisecond the later must sort later.
        let older = (0..1000)
            .map(|number| self.directory.join(format!("{OLDER}{stamp}-{number:03}{PLAIN}")))
            .find(|path| !path.exists() && !PathBuf::from(format!("{}.gz", path.display())).exists())
            .ok_or_else(|| Error::new(Exit::Bug, "there is no name left for an older audit file"))?;
        fs::rename(&path, &older).map_err(failed)?;
        match create(&path) {
            Ok(file) => self.file = file,
            Err(error) => {
                // Back, so that lines go on being written.
                let _ = fs::rename(&older, &path);
                return Err(error);
            }
        }
        self.length = 0;
        self.day = day(now);
        pack::in_background(older);
        self.thin_out(now);
        Ok(())
    }

    /// Removes older files whose time is over.
    fn thin_out(&self, now: Timestamp) {
        let oldest = shared::clock::before(now, i64::from(self.keeping.days) * 86_400);
        let oldest: String = rfc3339(oldest).chars().filter(char::is_ascii_alphanumeric).collect();
        for file in files::list(&self.directory) {
            let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.strip_prefix(OLDER).is_some_and(|stamp| *stamp < *oldest) {
                let _ = fs::remove_file(&file.path);
            }
        }
    }
}

/// The day of a time, in UTC.
fn day(time: Timestamp) -> String {
    rfc3339(time).get(..10).unwrap_or_default().to_owned()
}

fn create(path: &Path) -> Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)
        .map_err(|error| Error::io("cannot open the audit", path, &error))
}

fn last_hash(file: &AuditFile) -> Option<String> {
    let lines = files::lines(file).ok()?.filter_map(io::Result::ok);
    lines.filter_map(|line| chain::open(&line.bytes)).last().map(|(_, hash)| hash)
}
