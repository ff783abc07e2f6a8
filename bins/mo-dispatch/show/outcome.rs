//! What a task brought, from its record and what this session saw of its runs.

use std::fmt::Write as _;

use serde_json::{Value, json};
use shared::flatten::{flatten, paragraphs};
use shared::outcome::what_next;
use shared::record::{Record, Status};

use crate::show::span;
use crate::work::task::Try;

/// The longest word of a record that is shown in a line.
const LONGEST: usize = 300;
/// The most files, denials or checks that are listed.
const MOST: usize = 50;

/// A piece of a worker's report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece {
    /// The text.
    pub text: String,
    /// At which character it begins.
    pub from: usize,
    /// How many characters the whole has.
    pub of: usize,
}

impl Piece {
    /// These characters of the text: counted in characters, so that none is cut in two.
    pub fn of(text: &str, from: usize, most: usize) -> Self {
        let of = text.chars().count();
        Self { text: text.chars().skip(from).take(most).collect(), from, of }
    }

    /// Where the next piece begins; nothing where this is the last.
    pub fn next(&self) -> Option<usize> {
        let end = self.from + self.text.chars().count();
        (end < self.of).then_some(end)
    }
}

/// The worker's report: made harmless, its lines kept.
pub fn report(record: &Record) -> String {
    record.summary.as_deref().map(|text| paragraphs(text, usize::MAX)).unwrap_or_default()
}

/// Everything about an ended task, with this piece of its report.
pub fn data(record: &Record, tries: &[Try], piece: &Piece, path: Option<&str>) -> Value {
    let flat = |text: &Option<String>| text.as_deref().map(|text| flatten(text, LONGEST));
    let fresh: u64 = record.usage.values().map(|one| one.input + one.cache_creation + one.output).sum();
    let mut data = json!({
        "id": record.id,
        "title": flat(&record.title),
        "status": record.status.map(Status::name),
        "worker": record.worker,
        "model": flat(&record.model),
        "seconds": span::seconds(record.started_at.as_deref(), record.ended_at.as_deref()),
        "fresh_tokens": fresh,
        "usage": record.usage,
        "cost_usd": record.cost_usd,
        "cost_basis": record.cost_basis,
        "record": path,
    });
    let mut add = |name: &str, value: Value| {
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if let Some(members) = data.as_object_mut().filter(|_| !is_empty) {
            members.insert(name.to_owned(), value);
        }
    };
    if let Some(error) = &record.error {
        add("error", json!({"kind": error.kind, "text": flatten(&error.text, 2_000)}));
        add("hint", json!(what_next(record)));
    }
    add("attempts", attempts(record, tries));
    let listed = |texts: &[String]| -> Vec<String> {
        texts.iter().take(MOST).map(|text| flatten(text, LONGEST)).collect()
    };
    add("files", json!(listed(&record.files)));
    if record.files.len() > MOST {
        add("more_files", json!(record.files.len() - MOST));
    }
    let checks: Vec<Value> = record
        .checks
        .iter()
        .take(MOST)
        .map(|check| {
            let failed = check.exit_code != Some(0);
            let tail = failed.then(|| paragraphs(&check.tail, usize::MAX));
            json!({"command": flatten(&check.command, LONGEST), "exit_code": check.exit_code, "tail": tail})
        })
        .collect();
    add("checks", json!(checks));
    let denials: Vec<Value> = record
        .denials
        .iter()
        .take(MOST)
        .map(|denial| json!({"tool": flatten(&denial.tool, 64), "what": flatten(&denial.what, LONGEST)}))
        .collect();
    add("denials", json!(denials));
    add("branch", json!(flat(&record.branch)));
    add("worktree", json!(flat(&record.worktree)));
    add("commit", json!(flat(&record.commit)));
    add("role_report", record.report.clone().unwrap_or_default());
    add("report", json!(piece.text));
    if piece.from > 0 || piece.next().is_some() {
        add("report_from", json!(piece.from));
        add("report_chars", json!(piece.of));
        add("report_next_offset", json!(piece.next()));
    }
    data
}

/// Every run: those that this session saw, else those that the record tells.
fn attempts(record: &Record, tries: &[Try]) -> Value {
    if tries.len() > 1 {
        let told = tries.iter().map(|one| {
            json!({
                "worker": one.worker,
                "status": one.status.name(),
                "reason": one.reason.as_deref().map(|why| flatten(why, LONGEST)),
                "went_on_with_its_history": one.resumed,
                "started_at": one.started_at.to_string(),
                "ended_at": one.ended_at.to_string(),
            })
        });
        return told.collect();
    }
    if record.attempts.len() < 2 {
        return Value::Null;
    }
    let told = record.attempts.iter().map(|one| {
        json!({
            "worker": one.worker,
            "status": one.status.name(),
            "reason": one.reason.as_deref().map(|why| flatten(why, LONGEST)),
        })
    });
    told.collect()
}

/// One line: what, how, by whom, how long, how much.
pub fn line(record: &Record) -> String {
    let status = record.status.map_or("?", Status::name);
    let mut line = format!("{} {status}", record.id);
    if !record.worker.is_empty() {
        let _ = write!(line, " by {}", record.worker);
    }
    if let Some(seconds) = span::seconds(record.started_at.as_deref(), record.ended_at.as_deref()) {
        let _ = write!(line, ", {}", span::words(seconds));
    }
    let fresh: u64 = record.usage.values().map(|one| one.input + one.cache_creation + one.output).sum();
    if fresh > 0 {
        let _ = write!(line, ", {} fresh tokens", span::tokens(fresh));
    }
    match (record.cost_usd, record.cost_basis.as_deref()) {
        (Some(_), Some("flat")) => line.push_str(", flat plan"),
        (Some(usd), _) => {
            let _ = write!(line, ", ${usd:.4}");
        }
        _ => {}
    }
    line
}

/// Everything about an ended task in words.
pub fn text(record: &Record, tries: &[Try], piece: &Piece, path: Option<&str>) -> String {
    let title = record.title.as_deref().map(|title| flatten(title, LONGEST)).unwrap_or_default();
    let mut text = format!("{title}: {}\n", line(record));
    if let Some(error) = &record.error {
        let _ = writeln!(text, "why: {}", flatten(&error.text, 2_000));
    }
    if let Some(next) = what_next(record) {
        let _ = writeln!(text, "hint: {}", flatten(&next, 2_000));
    }
    for (at, one) in tries.iter().enumerate().filter(|_| tries.len() > 1) {
        let how = if one.resumed { ", went on with the history" } else { "" };
        let why = one.reason.as_deref().map(|why| format!(": {}", flatten(why, LONGEST))).unwrap_or_default();
        let _ = writeln!(text, "attempt {}: {} {}{how}{why}", at + 1, one.worker, one.status.name());
    }
    if let Some(branch) = &record.branch {
        let _ = writeln!(text, "branch: {}", flatten(branch, LONGEST));
    }
    if !record.files.is_empty() {
        let files: Vec<String> = record.files.iter().take(MOST).map(|file| flatten(file, LONGEST)).collect();
        let more = record.files.len().saturating_sub(MOST);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(text, "files: {}{more}", files.join(", "));
    }
    for check in record.checks.iter().take(MOST) {
        let how = match check.exit_code {
            Some(0) => "passed".to_owned(),
            Some(code) => format!("failed with exit code {code}"),
            None => "was stopped".to_owned(),
        };
        let _ = writeln!(text, "check `{}` {how}", flatten(&check.command, LONGEST));
    }
    for denial in record.denials.iter().take(MOST) {
        let _ = writeln!(text, "denied: {} {}", flatten(&denial.tool, 64), flatten(&denial.what, LONGEST));
    }
    if let Some(path) = path {
        let _ = writeln!(text, "record: {path}");
    }
    if !piece.text.is_empty() {
        let _ = write!(text, "\n{}\n", piece.text);
    }
    if let Some(next) = piece.next() {
        let _ = writeln!(
            text,
            "\n[{} of {} characters; the rest: task_result with id {} and offset {next}]",
            next - piece.from,
            piece.of,
            record.id
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_report_is_cut_between_letters_and_the_pieces_make_the_whole() {
        let whole = "aä€𝄞".repeat(50_000);
        let (mut text, mut at) = (String::new(), 0);
        loop {
            let piece = Piece::of(&whole, at, 30_001);
            text.push_str(&piece.text);
            match piece.next() {
                Some(next) => at = next,
                None => break,
            }
        }
        assert_eq!(text, whole);
    }

    #[test]
    fn what_a_worker_wrote_moves_no_cursor() {
        let record = Record {
            id: "d-1".into(),
            title: Some("t\u{1b}[2J".into()),
            worker: "glm".into(),
            status: Some(Status::Denied),
            summary: Some("one\n\u{1b}]0;x\u{7}two\u{202e}".into()),
            files: vec!["a\nb".into()],
            denials: vec![shared::record::Denial { tool: "Bash".into(), what: "rm\r\n-rf".into() }],
            ..Record::default()
        };
        let piece = Piece::of(&report(&record), 0, 100);
        let shown = text(&record, &[], &piece, Some("/r"));
        let data = data(&record, &[], &piece, Some("/r")).to_string();
        for text in [shown, data] {
            assert!(!text.contains(['\u{1b}', '\u{202e}', '\r']), "{text:?}");
        }
    }
}
