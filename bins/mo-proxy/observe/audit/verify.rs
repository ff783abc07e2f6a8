//! `audit verify`: whether the chain holds, over all files.

use std::path::Path;

use serde::Serialize;
use shared::audit_files as files;

use super::chain;

/// What was found.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Finding {
    /// How many files were read.
    pub files: usize,
    /// How many lines hold.
    pub lines: u64,
    /// Lines that their writer tells as lost: a full disk, a full queue.
    pub lost: u64,
    /// The time of the first line.
    pub from: Option<String>,
    /// The time of the last line.
    pub to: Option<String>,
    /// The hash of the last line.
    pub head: Option<String>,
    /// Whether the line that was asked for by its hash was met.
    pub met: bool,
    /// Whether the last line is torn: a process was killed, or writes just now.
    pub torn: bool,
    /// Where the chain breaks first.
    pub broken: Option<Break>,
}

/// Where and how the chain breaks.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Break {
    /// The file's name.
    pub file: String,
    /// The line in it, from 1.
    pub line: u64,
    /// What is wrong.
    pub why: &'static str,
}

/// Reads everything. The first line there is cannot be compared with what was thinned out before it; whoever noted
/// a head earlier gives it as `known`.
pub fn verify(directory: &Path, known: Option<&str>) -> Finding {
    let mut finding = Finding::default();
    let mut before: Option<String> = None;
    for file in files::list(directory) {
        finding.files += 1;
        let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_current = name == files::CURRENT;
        let broken = |line: u64, why| Some(Break { file: name.clone(), line, why });
        let Ok(lines) = files::lines(&file) else {
            finding.broken = broken(0, "the file cannot be read");
            return finding;
        };
        for (at, line) in (1..).zip(lines) {
            let Ok(line) = line else {
                finding.broken = broken(at, "the file is damaged here");
                return finding;
            };
            if !line.whole {
                finding.torn = true;
                if !is_current {
                    finding.broken = broken(at, "the line is torn");
                    return finding;
                }
                continue;
            }
            let Some((entry, hash)) = chain::open(&line.bytes) else {
                finding.broken = broken(at, "the line was changed, or is not ours");
                return finding;
            };
            if before.as_ref().is_some_and(|before| *before != entry.prev_hash) {
                finding.broken = broken(at, "the line before it is not the one that was written before it");
                return finding;
            }
            finding.met |= known == Some(&hash) || known == Some(&entry.prev_hash);
            finding.lines += 1;
            finding.lost += entry.lost;
            finding.from.get_or_insert_with(|| entry.ts.clone());
            finding.to = Some(entry.ts);
            before = Some(hash);
        }
    }
    finding.head = before;
    finding
}
