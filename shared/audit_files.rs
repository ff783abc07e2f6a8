//! The files of the gateway's audit: the one that grows, and older ones in their order, packed or not yet. Written by
//! mo-proxy, read by it and by the ledger. What stands in a line is left to them.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

/// The file that grows.
pub const CURRENT: &str = "audit.jsonl";
/// What the names of older files begin with; the time of their rotation follows, so that their order is that of
/// their names.
pub const OLDER: &str = "audit-";
/// What a packed file ends in.
pub const PACKED: &str = ".jsonl.gz";
/// What a file that is not packed yet ends in.
pub const PLAIN: &str = ".jsonl";
/// The longest line that can be ours; a longer one comes in pieces.
pub const LONGEST: u64 = 1 << 20;

/// One file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AuditFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Whether it is packed.
    pub packed: bool,
}

/// All files, the oldest first; the one that grows comes last.
pub fn list(directory: &Path) -> Vec<AuditFile> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(OLDER) && (name.ends_with(PACKED) || name.ends_with(PLAIN)))
        .collect();
    names.sort();
    // While it is packed a file is there twice, one after the other: the plain one is whole until it goes.
    names.dedup_by(|name, before| name.strip_suffix(".gz") == Some(before));
    let mut files: Vec<AuditFile> = names
        .into_iter()
        .map(|name| AuditFile { packed: name.ends_with(PACKED), path: directory.join(name) })
        .collect();
    let current = directory.join(CURRENT);
    if current.is_file() {
        files.push(AuditFile { path: current, packed: false });
    }
    files
}

/// A line as it was read.
#[derive(Debug)]
pub struct Line {
    /// Without its end.
    pub bytes: Vec<u8>,
    /// Whether its end was there: the last line of a process that was killed may be torn.
    pub whole: bool,
}

/// The lines of a file.
pub fn lines(file: &AuditFile) -> io::Result<impl Iterator<Item = io::Result<Line>>> {
    let open = File::open(&file.path)?;
    Ok(lines_in(reader(open, file.packed)))
}

/// What an open file holds, unpacked.
pub fn reader(open: File, packed: bool) -> Box<dyn Read> {
    if packed { Box::new(MultiGzDecoder::new(open)) } else { Box::new(open) }
}

/// The lines that a reader holds.
pub fn lines_in(reader: Box<dyn Read>) -> impl Iterator<Item = io::Result<Line>> {
    let mut reader = BufReader::with_capacity(1 << 16, reader);
    std::iter::from_fn(move || {
        let mut bytes = Vec::new();
        match reader.by_ref().take(LONGEST).read_until(b'\n', &mut bytes) {
            Ok(0) => None,
            Ok(_) => {
                let whole = bytes.last() == Some(&b'\n');
                if whole {
                    bytes.pop();
                }
                Some(Ok(Line { bytes, whole }))
            }
            Err(error) => Some(Err(error)),
        }
    })
}
