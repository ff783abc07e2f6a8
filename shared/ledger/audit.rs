//! The gateway's audit as the ledger reads it: which worker answered which message of a session, from where the
//! last update stopped. What follows from it is left to `served`; whether a line was forged, to `mo-proxy audit
//! verify`.

use super::homes::Identity;
use super::scan;
use crate::audit_files::{self, AuditFile, CURRENT, LONGEST, PACKED, PLAIN};
use crate::error::Result;
use crate::name::Name;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The format of lines that are understood.
const FORMAT: u32 = 1;
/// The gateway cuts ids to so many letters, so one of this length may be half of one.
const CUT_ID: usize = 300;

/// How far the audit was read. Lines that are read again change nothing, so these marks only spare work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AuditMarks {
    growing: Option<Growing>,
    /// Older files that were read to their end, by their names without endings: packing changes the ending.
    older: BTreeSet<String>,
    /// The older file in which a budget ended, and how far it was read.
    begun: Option<(String, u64)>,
}

/// The file that grows, as it was last seen, and the end of its last whole line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Growing {
    device: u64,
    inode: u64,
    size: u64,
    modified: u64,
    offset: u64,
    /// The hash of the bytes before the offset.
    recent: u64,
}

/// What the audit's folder shows.
#[derive(Debug, Default)]
pub(super) struct Audit {
    /// Files that are new or have grown, the oldest first.
    pub(super) unread: Vec<AuditFile>,
    /// The names of all older files, without endings.
    older: BTreeSet<String>,
}

/// A message that a worker answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer<'a> {
    pub(super) session: Cow<'a, str>,
    pub(super) id: Cow<'a, str>,
    pub(super) worker: Cow<'a, str>,
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) marks: AuditMarks,
    pub(super) bytes: u64,
    /// The budget was used up before the end.
    pub(super) is_short: bool,
    pub(super) unreadable: Vec<PathBuf>,
}

/// Of a line, what the ledger needs.
#[derive(Deserialize)]
struct Line<'a> {
    v: u32,
    #[serde(borrow)]
    route: Cow<'a, str>,
    #[serde(borrow)]
    message_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    worker: Option<Cow<'a, str>>,
}

/// The answer in a line, if a worker gave one. Anthropic's are nobody's, and a line that is not ours says nothing.
fn answer(line: &[u8]) -> Option<Answer<'_>> {
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    let answer = Answer { session: line.session_id?, id: line.message_id?, worker: line.worker? };
    let is_ours = line.v == FORMAT
        && line.route == "messages"
        && !answer.session.is_empty()
        && (1..CUT_ID).contains(&answer.id.len())
        && Name::parse(&answer.worker).is_ok();
    is_ours.then_some(answer)
}

/// The name of an older file without its ending, `None` for the file that grows.
fn older(file: &AuditFile) -> Option<String> {
    let name = file.path.file_name()?.to_str()?;
    name.strip_suffix(PACKED)
        .or_else(|| name.strip_suffix(PLAIN))
        .filter(|_| name != CURRENT)
        .map(str::to_owned)
}

/// Looks for what was not read yet.
pub(super) fn look(folder: &Path, marks: &AuditMarks) -> Audit {
    let mut audit = Audit::default();
    for file in audit_files::list(folder) {
        let known = match older(&file) {
            Some(name) => {
                let known = marks.older.contains(&name);
                audit.older.insert(name);
                known
            }
            None => rustix::fs::stat(&file.path).is_ok_and(|stat| {
                let (now, was) = (Identity::of(&stat), marks.growing.as_ref());
                was.is_some_and(|was| {
                    (was.device, was.inode, was.size, was.modified)
                        == (now.device, now.inode, now.size, now.modified)
                })
            }),
        };
        if !known {
            audit.unread.push(file);
        }
    }
    audit
}

impl Audit {
    /// Reads what was not read yet, up to about so many bytes.
    pub(super) fn read(
        &self,
        marks: &AuditMarks,
        max_bytes: u64,
        each: &mut dyn FnMut(&Answer<'_>) -> Result<()>,
    ) -> Result<Reading> {
        let mut reading = Reading { marks: marks.clone(), ..Reading::default() };
        reading.marks.older.retain(|name| self.older.contains(name));
        reading.marks.begun = reading.marks.begun.filter(|(name, _)| self.older.contains(name));
        for file in &self.unread {
            if reading.bytes >= max_bytes {
                reading.is_short = true;
                break;
            }
            match reading.file(file, marks, max_bytes, each)? {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) => reading.unreadable.push(file.path.clone()),
                Ok(()) => {}
            }
        }
        Ok(reading)
    }
}

impl Growing {
    /// The end of what was read of a file, if it is this one and only grew, under whatever name.
    fn end_in(&self, file: &File, now: &Identity) -> io::Result<Option<u64>> {
        let same = (self.device, self.inode) == (now.device, now.inode) && now.size >= self.offset;
        // Another file may have come to the same number.
        Ok((same && scan::recent_hash(&scan::recent(file, self.offset)?) == self.recent)
            .then_some(self.offset))
    }
}

impl Reading {
    /// Reads one file; what is wrong with it is the inner error.
    fn file(
        &mut self,
        file: &AuditFile,
        marks: &AuditMarks,
        max_bytes: u64,
        each: &mut dyn FnMut(&Answer<'_>) -> Result<()>,
    ) -> Result<io::Result<()>> {
        let opened = match Opened::of(file, marks) {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        let Opened { open, reader, identity, mut offset } = opened;
        let mut is_cut_off = false;
        for line in audit_files::lines_in(reader) {
            let line = match line {
                Ok(line) => line,
                // What could be unpacked is taken; `mo-proxy audit verify` tells the rest.
                Err(_) if file.packed => break,
                Err(error) => return Ok(Err(error)),
            };
            let length = line.bytes.len() as u64 + u64::from(line.whole);
            if !line.whole && length < LONGEST {
                break;
            }
            if let Some(answer) = answer(&line.bytes) {
                each(&answer)?;
            }
            offset += length;
            self.bytes += length;
            if self.bytes >= max_bytes {
                is_cut_off = true;
                break;
            }
        }
        self.is_short |= is_cut_off;
        match older(file) {
            Some(name) if is_cut_off => self.marks.begun = Some((name, offset)),
            Some(name) => {
                self.marks.begun = self.marks.begun.take().filter(|(begun, _)| *begun != name);
                self.marks.older.insert(name);
            }
            None => {
                let recent = match scan::recent(&open, offset) {
                    Ok(recent) => scan::recent_hash(&recent),
                    Err(error) => return Ok(Err(error)),
                };
                let Identity { device, inode, size, modified, .. } = identity;
                // A size that it never has keeps it from looking read.
                let size = if is_cut_off { u64::MAX } else { size };
                self.marks.growing = Some(Growing { device, inode, size, modified, offset, recent });
            }
        }
        Ok(Ok(()))
    }
}

/// A file, opened where reading goes on.
struct Opened {
    open: File,
    reader: Box<dyn Read>,
    identity: Identity,
    offset: u64,
}

impl Opened {
    fn of(file: &AuditFile, marks: &AuditMarks) -> io::Result<Self> {
        let open = File::open(&file.path)?;
        let identity = Identity::of(&rustix::fs::fstat(&open)?);
        let name = older(file);
        let begun = marks.begun.as_ref().filter(|(begun, _)| Some(begun) == name.as_ref());
        let offset = match (begun, &marks.growing) {
            (Some((_, offset)), _) => *offset,
            (None, Some(growing)) if !file.packed => growing.end_in(&open, &identity)?.unwrap_or(0),
            _ => 0,
        };
        let mut own = open.try_clone()?;
        if !file.packed {
            own.seek(SeekFrom::Start(offset))?;
        }
        let mut reader = audit_files::reader(own, file.packed);
        if file.packed {
            // Where it breaks off the lines will end too.
            let _ = io::copy(&mut reader.by_ref().take(offset), &mut io::sink());
        }
        Ok(Self { open, reader, identity, offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    fn line(id: &str) -> String {
        format!(
            "{{\"v\":1,\"ts\":\"t\",\"message_id\":\"{id}\",\"session_id\":\"s\",\"worker\":\"glm\",\"route\":\"messages\",\"status\":200}}\n"
        )
    }

    fn append(path: &Path, text: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn pack(path: &Path) {
        let packed = File::create(path.with_extension("jsonl.gz")).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
        encoder.write_all(&fs::read(path).unwrap()).unwrap();
        encoder.finish().unwrap();
        fs::remove_file(path).unwrap();
    }

    /// What is new since the marks, with the bytes it took; the marks move on.
    fn read(folder: &Path, marks: &mut AuditMarks, max_bytes: u64) -> (Vec<String>, u64) {
        let mut ids = Vec::new();
        let audit = look(folder, marks);
        let reading = audit.read(marks, max_bytes, &mut |answer| {
            ids.push(answer.id.to_string());
            Ok(())
        });
        let reading = reading.unwrap();
        assert_eq!(reading.unreadable, Vec::<PathBuf>::new());
        // What is kept is kept as JSON.
        *marks = serde_json::from_str(&serde_json::to_string(&reading.marks).unwrap()).unwrap();
        assert_eq!(look(folder, marks).unread.is_empty(), !reading.is_short);
        (ids, reading.bytes)
    }

    #[test]
    fn what_was_read_is_read_no_more_also_renamed_and_packed() {
        let dir = tempfile::tempdir().unwrap();
        let (growing, older) = (dir.path().join(CURRENT), dir.path().join("audit-1-000.jsonl"));
        let mut marks = AuditMarks::default();
        assert!(look(&dir.path().join("nowhere"), &marks).unread.is_empty());
        append(&growing, &(line("a") + "{\"v\":1,\"half"));
        let length = line("a").len() as u64;
        assert_eq!(read(dir.path(), &mut marks, u64::MAX), (vec!["a".to_owned()], length));
        append(&growing, &(" a line\"}\n".to_owned() + &line("b")));
        assert_eq!(read(dir.path(), &mut marks, u64::MAX).0, ["b"]);
        append(&growing, &line("c"));
        fs::rename(&growing, &older).unwrap();
        append(&growing, &line("d"));
        assert_eq!(
            read(dir.path(), &mut marks, u64::MAX),
            (vec!["c".to_owned(), "d".to_owned()], 2 * length)
        );
        pack(&older);
        assert_eq!(read(dir.path(), &mut marks, u64::MAX), (vec![], 0));
        // Packed before anybody looked: what was read of it before is read again, which counts nothing twice.
        append(&growing, &line("e"));
        fs::rename(&growing, dir.path().join("audit-2-000.jsonl")).unwrap();
        pack(&dir.path().join("audit-2-000.jsonl"));
        assert_eq!(read(dir.path(), &mut marks, u64::MAX).0, ["d", "e"]);
        fs::remove_file(older.with_extension("jsonl.gz")).unwrap();
        assert_eq!(read(dir.path(), &mut marks, u64::MAX), (vec![], 0));
        assert_eq!(marks.older.len(), 1, "{marks:?}");
    }

    #[test]
    fn another_file_under_the_same_name_or_number_is_read_from_its_beginning() {
        let dir = tempfile::tempdir().unwrap();
        let growing = dir.path().join(CURRENT);
        let mut marks = AuditMarks::default();
        append(&growing, &line("a"));
        read(dir.path(), &mut marks, u64::MAX);
        // The same inode.
        fs::write(&growing, line("x") + &line("y")).unwrap();
        assert_eq!(read(dir.path(), &mut marks, u64::MAX).0, ["x", "y"]);
        fs::write(&growing, line("z")).unwrap();
        assert_eq!(read(dir.path(), &mut marks, u64::MAX).0, ["z"]);
    }

    #[test]
    fn a_budget_ends_in_a_file_and_the_next_one_goes_on_there() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["audit-1-000.jsonl", "audit-2-000.jsonl", CURRENT];
        for name in names {
            (0..5).for_each(|at| append(&dir.path().join(name), &line(&format!("{name}-{at}"))));
        }
        pack(&dir.path().join(names[0]));
        let (mut marks, mut ids) = (AuditMarks::default(), Vec::new());
        while !look(dir.path(), &marks).unread.is_empty() {
            let (more, bytes) = read(dir.path(), &mut marks, 150);
            assert!(bytes < 400, "{bytes} bytes");
            ids.extend(more);
        }
        let all: Vec<_> =
            names.iter().flat_map(|name| (0..5).map(move |at| format!("{name}-{at}"))).collect();
        assert_eq!(ids, all);
    }

    #[test]
    fn only_a_workers_answer_to_a_message_says_something() {
        let with = |from: &str, to: &str| line("a").replace(from, to);
        assert!(answer(line("a").trim_end().as_bytes()).is_some());
        for text in [
            with("\"glm\"", "null"),
            with("\"glm\"", "\"main\""),
            with("\"glm\"", "\"../glm\""),
            with("\"glm\"", "7"),
            with("\"messages\"", "\"count_tokens\""),
            with("\"s\"", "null"),
            with("\"s\"", "\"\""),
            with("\"v\":1", "\"v\":2"),
            with("\"v\":1", "\"v\":-1"),
            with("\"a\"", "\"\""),
            with("\"a\"", &format!("\"{}\"", "x".repeat(CUT_ID))),
            with("\"a\"", "[\"a\"]"),
            with("\"a\"", "\"a\",\"message_id\":\"b\""),
            String::new(),
        ] {
            assert_eq!(answer(text.trim_end().as_bytes()), None, "{text}");
        }
    }
}
