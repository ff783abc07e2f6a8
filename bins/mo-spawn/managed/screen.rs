//! The course of a dispatch on standard error: one live line on a terminal, a plain line an event elsewhere.

use std::time::Duration;

use shared::event::Kind;
use shared::flatten::flatten;
use shared::money::Money;
use shared::record::Status;
use shared::say::Say;
use shared::terminal;
use shared::world::World;

use crate::options::Progress;

/// The narrowest terminal that is written for.
const NARROW: usize = 40;
/// Back to the start of the line, and away with what stands there.
const ERASE: &str = "\r\u{1b}[K";

/// What is shown, and how.
#[derive(Debug)]
pub struct Screen {
    say: Say,
    how: Progress,
    worker: String,
    turn: u32,
    tool: Option<String>,
    text: Option<String>,
    tokens: u64,
    money: Option<Money>,
    drawn: bool,
    elapsed: Duration,
}

impl Screen {
    /// As asked for; else live on a terminal, and plain elsewhere.
    pub fn new(world: &World, how: Option<Progress>, worker: &str) -> Self {
        let how = how.unwrap_or(if world.terminal.stderr { Progress::Bar } else { Progress::Plain });
        Self {
            say: world.say,
            how,
            worker: worker.to_owned(),
            turn: 0,
            tool: None,
            text: None,
            tokens: 0,
            money: None,
            drawn: false,
            elapsed: Duration::ZERO,
        }
    }

    /// Whether the time on it goes on by itself.
    pub fn is_live(&self) -> bool {
        self.how == Progress::Bar
    }

    /// Whether anything is said at all.
    pub fn is_silent(&self) -> bool {
        self.how == Progress::None
    }

    /// What was used until now.
    pub fn used(&mut self, tokens: u64, money: Option<Money>) {
        self.tokens = tokens;
        self.money = money;
    }

    /// Something happened.
    pub fn show(&mut self, kind: &Kind, elapsed: Duration) {
        self.elapsed = elapsed;
        if let Kind::Progress { turn, tool, text, .. } = kind {
            (self.turn, self.tool) = (*turn, tool.clone());
            self.text = text.clone().or(self.text.take());
        }
        match self.how {
            Progress::Bar => self.bar(kind),
            Progress::Plain => {
                if let Some(line) = plain(kind) {
                    self.say.aside(&format!("{} {} {line}\n", self.worker, clock(elapsed)));
                }
            }
            Progress::None => {}
        }
    }

    fn bar(&mut self, kind: &Kind) {
        // What stays stands above the live line.
        if let Kind::Check { .. } | Kind::Denial(_) | Kind::Message { .. } = kind
            && let Some(line) = plain(kind)
        {
            self.clear();
            self.say.aside(&format!("{} {} {line}\n", self.worker, clock(self.elapsed)));
        }
        // The result comes next, on lines of its own.
        if matches!(kind, Kind::End { .. }) {
            return self.clear();
        }
        self.draw(self.elapsed);
    }

    /// Draws the live line.
    pub fn draw(&mut self, elapsed: Duration) {
        if self.how != Progress::Bar {
            return;
        }
        self.elapsed = elapsed;
        let width = terminal::columns().unwrap_or(80).max(NARROW) - 1;
        self.say.aside(&format!("{ERASE}{}", flatten(&self.line(), width)));
        self.drawn = true;
    }

    fn line(&self) -> String {
        let mut line = format!("{} {}", self.worker, clock(self.elapsed));
        match self.turn {
            0 => line.push_str(" waits for its first answer"),
            turn => line.push_str(&format!(" turn {turn}")),
        }
        if let Some(tool) = &self.tool {
            line.push_str(&format!(" {tool}"));
        }
        if self.tokens > 0 {
            line.push_str(&format!(" {} tokens", shared::digits::grouped(self.tokens.into())));
        }
        if let Some(money) = self.money {
            line.push_str(&format!(" {money}"));
        }
        if let Some(text) = &self.text {
            line.push_str(&format!(" · {text}"));
        }
        line
    }

    /// Takes the live line away.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            self.say.aside(ERASE);
        }
    }
}

/// The event in a line, where it is worth one.
fn plain(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::State { status } if *status == Status::Running => "running".to_owned(),
        Kind::State { status } => status.name().to_owned(),
        Kind::Progress { turn, tool, text, .. } => {
            let tool = tool.as_deref().map(|tool| format!(" {tool}")).unwrap_or_default();
            let text = text.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
            flatten(&format!("turn {turn}{tool}{text}"), 200)
        }
        Kind::Denial(denial) => flatten(&format!("denied: {} {}", denial.tool, denial.what), 200),
        Kind::Message { from, text } if from == "caller" => flatten(&format!("told: {text}"), 200),
        Kind::Check { command, exit_code } => {
            let how = match exit_code {
                Some(0) => "passed".to_owned(),
                Some(code) => format!("failed ({code})"),
                None => "was stopped".to_owned(),
            };
            flatten(&format!("check {how}: {command}"), 200)
        }
        _ => return None,
    })
}

/// `75` seconds as `1:15`.
fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worth_a_line_gets_one() {
        let check = Kind::Check { command: "make\ntest".into(), exit_code: Some(2) };
        assert_eq!(plain(&check).as_deref(), Some("check failed (2): make test"));
        assert_eq!(plain(&Kind::Message { from: "worker".into(), text: "x".into() }), None);
        assert_eq!(clock(Duration::from_secs(3675)), "1:01:15");
    }
}
