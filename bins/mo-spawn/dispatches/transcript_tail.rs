//! A growing file of JSON lines, read as entries for people: from a transcript what the worker says and does,
//! from an events file what mo-spawn did around it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;
use shared::event::{Event, Kind};
use shared::flatten::flatten;

/// The most characters of an entry.
const LONGEST: usize = 400;
/// The most bytes taken at once; the rest comes with the next look.
const PIECE: u64 = 16 << 20;
/// The inputs that tell what a tool does, the most telling first.
const TELLING: &[&str] =
    &["command", "file_path", "path", "pattern", "url", "query", "description", "prompt"];

/// One line for people.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Entry {
    /// RFC 3339.
    pub at: String,
    /// Who: `worker`, `caller`, a tool, `check`, …
    pub who: String,
    /// What.
    pub text: String,
    /// Where it stands.
    pub source: Source,
}

/// What kind of lines a file holds.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Source {
    /// Claude Code's own transcript.
    Transcript,
    /// Our events.
    Events,
}

/// A file and how far it was read.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    source: Source,
    offset: u64,
    /// The beginning of a line whose end has not been written yet.
    rest: Vec<u8>,
}

impl Tail {
    /// From the beginning.
    pub fn new(path: PathBuf, source: Source) -> Self {
        Self { path, source, offset: 0, rest: Vec::new() }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was added since the last look. A file that is not there yet holds nothing.
    pub fn read(&mut self) -> Vec<Entry> {
        let Ok(mut file) = File::open(&self.path) else { return Vec::new() };
        let mut bytes = std::mem::take(&mut self.rest);
        let read =
            file.seek(SeekFrom::Start(self.offset)).and_then(|_| file.take(PIECE).read_to_end(&mut bytes));
        self.offset += read.unwrap_or(0) as u64;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.rest = bytes.split_off(whole);
        if self.rest.len() as u64 > PIECE {
            // No line of ours is that long: it is not waited for.
            self.rest.clear();
        }
        bytes.split(|byte| *byte == b'\n').flat_map(|line| self.entries(line)).collect()
    }

    fn entries(&self, line: &[u8]) -> Vec<Entry> {
        let text = String::from_utf8_lossy(line);
        let entries = match self.source {
            Source::Transcript => serde_json::from_str(&text).map(|row| of_row(&row)).unwrap_or_default(),
            Source::Events => Event::parse(&text).and_then(of_event).into_iter().collect(),
        };
        entries.into_iter().map(|entry| Entry { source: self.source, ..entry }).collect()
    }
}

fn entry(at: &str, who: &str, text: &str) -> Option<Entry> {
    let text = flatten(text, LONGEST);
    (!text.is_empty()).then(|| Entry {
        at: at.to_owned(),
        who: flatten(who, 40),
        text,
        source: Source::Transcript,
    })
}

fn of_row(row: &Value) -> Vec<Entry> {
    let word = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    let at = word("timestamp");
    let content = row.get("message").and_then(|message| message.get("content"));
    let is_meta = row.get("isMeta").and_then(Value::as_bool).unwrap_or(false);
    match (word("type"), content) {
        ("user", Some(Value::String(text))) if !is_meta => entry(at, "caller", text).into_iter().collect(),
        ("assistant" | "user", Some(Value::Array(blocks))) => {
            blocks.iter().filter_map(|block| of_block(at, word("type"), block, is_meta)).collect()
        }
        _ => Vec::new(),
    }
}

fn of_block(at: &str, side: &str, block: &Value, is_meta: bool) -> Option<Entry> {
    let word = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
    match word("type") {
        "text" if side == "assistant" => entry(at, "worker", word("text")),
        "text" if !is_meta => entry(at, "caller", word("text")),
        "tool_use" => {
            let input = block.get("input");
            let telling = TELLING.iter().find_map(|name| input?.get(*name)?.as_str());
            let whole = || input.map(ToString::to_string).unwrap_or_default();
            entry(at, word("name"), &telling.map_or_else(whole, str::to_owned))
        }
        "tool_result" if block.get("is_error").and_then(Value::as_bool).unwrap_or(false) => {
            let content = block.get("content");
            let text = content.and_then(Value::as_str).map(str::to_owned);
            entry(at, "error", &text.or_else(|| content.map(ToString::to_string)).unwrap_or_default())
        }
        _ => None,
    }
}

fn of_event(event: Event) -> Option<Entry> {
    let at = event.ts;
    match event.kind {
        Kind::State { status } => entry(&at, "state", status.name()),
        Kind::Denial(denial) => entry(&at, "denied", &format!("{} {}", denial.tool, denial.what)),
        Kind::Message { from, text } => entry(&at, &from, &text),
        Kind::Check { command, exit_code } => {
            let ended = exit_code.map_or_else(|| "stopped".to_owned(), |code| format!("exit code {code}"));
            entry(&at, "check", &format!("{command}: {ended}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_line_is_shown_once_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let mut tail = Tail::new(path.clone(), Source::Transcript);
        assert_eq!(tail.read(), []);
        let mut file = File::create(&path).unwrap();
        file.write_all(br#"{"type":"assistant","timestamp":"t1","message":{"content":[{"type":"text","text":"a\u001b[2Jb"},{"type":"tool_use","name":"Bash","input":{"description":"d","command":"make"}}]}}"#).unwrap();
        assert_eq!(tail.read(), []);
        file.write_all(
            b"\nnot json\n{\"type\":\"user\",\"timestamp\":\"t2\",\"message\":{\"content\":\"go\"}}\n",
        )
        .unwrap();
        let shown: Vec<_> =
            tail.read().into_iter().map(|entry| format!("{} {}", entry.who, entry.text)).collect();
        assert_eq!(shown, ["worker a [2Jb", "Bash make", "caller go"]);
        assert_eq!(tail.read(), []);
    }

    #[test]
    fn of_the_events_what_stands_in_no_transcript_is_shown() {
        let event = |kind| Event { v: 1, ts: "t".into(), id: "d".into(), kind };
        let check = of_event(event(Kind::Check { command: "make test".into(), exit_code: Some(2) })).unwrap();
        assert_eq!((check.who.as_str(), check.text.as_str()), ("check", "make test: exit code 2"));
        let told = of_event(event(Kind::Message { from: "caller".into(), text: "x".into() })).unwrap();
        assert_eq!((told.who.as_str(), told.text.as_str()), ("caller", "x"));
    }
}
