//! How the lines are shown: aligned, a mark in front; or as one JSON document.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use shared::flatten::flatten;

use super::line::{Line, Mark};

/// The longest text of a line; a path and a reason fit in.
const LONGEST: usize = 300;

/// The document that `--json` prints.
#[derive(Serialize)]
pub struct Document<'a> {
    version: u32,
    healthy: bool,
    lines: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    mark: &'static str,
    subject: &'a str,
    what: &'a str,
    next: Option<&'a str>,
    fixable: bool,
}

/// Whether nothing needs the user.
pub fn is_healthy(lines: &[Line]) -> bool {
    lines.iter().all(|line| line.mark != Mark::Bad)
}

/// The lines for scripts.
pub fn document(lines: &[Line]) -> Document<'_> {
    let rows = lines.iter().map(|line| Row {
        mark: line.mark.word(),
        subject: &line.subject,
        what: &line.what,
        next: line.next.as_deref(),
        fixable: line.mending.is_some(),
    });
    Document { version: 1, healthy: is_healthy(lines), lines: rows.collect() }
}

/// The lines for people.
pub fn text(lines: &[Line], colour: bool) -> String {
    let width = lines.iter().map(|line| line.subject.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for line in lines {
        let style = if colour { style(line.mark) } else { Style::new() };
        let (mark, what) = (line.mark.word(), flatten(&line.what, LONGEST));
        let _ = writeln!(text, "{style}{mark:<4}{style:#}  {:width$}  {what}", line.subject);
        if let Some(next) = &line.next {
            let _ = writeln!(text, "      {:width$}  -> {}", "", flatten(next, LONGEST));
        }
    }
    text
}

fn style(mark: Mark) -> Style {
    let colour = match mark {
        Mark::Ok => AnsiColor::Green,
        Mark::Warn => AnsiColor::Yellow,
        Mark::Bad => AnsiColor::Red,
    };
    Style::new().fg_color(Some(colour.into())).bold()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> [Line; 2] {
        [Line::ok("claude", "2.1.332"), Line::bad("worker ü", "needs\u{1b}[31m key").next("`mo-key ü`")]
    }

    #[test]
    fn lines_are_aligned_and_hold_no_escapes() {
        let expected =
            "ok    claude    2.1.332\nbad   worker ü  needs [31m key\n                -> `mo-key ü`\n";
        assert_eq!(text(&lines(), false), expected);
        assert!(text(&lines(), true).starts_with("\u{1b}[1m\u{1b}[32mok  \u{1b}[0m  claude"));
    }

    #[test]
    fn only_what_needs_the_user_is_unhealthy() {
        assert!(!is_healthy(&lines()));
        assert!(is_healthy(&[Line::ok("a", ""), Line::warn("b", "")]));
    }
}
