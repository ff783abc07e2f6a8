//! What is known of a task while it runs: the sum of its events.

use std::collections::BTreeMap;

use shared::event::Kind;
use shared::flatten::flatten;
use shared::record::Tokens;

/// So much of what a worker says is kept for lists.
const LONGEST: usize = 160;

/// A task's last known state.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// The turn, from 1.
    pub turn: u32,
    /// The tool at work.
    pub tool: Option<String>,
    /// What the worker said last.
    pub text: Option<String>,
    /// How many milliseconds it works.
    pub elapsed_ms: u64,
    /// Tokens by model.
    pub usage: BTreeMap<String, Tokens>,
    /// How many actions were denied.
    pub denials: u32,
    /// The last check: its command, and whether it passed.
    pub check: Option<(String, bool)>,
}

impl Live {
    /// Takes in what happened; tells whether a person would want to know.
    pub fn take(&mut self, kind: &Kind) -> bool {
        let short = |text: &Option<String>| text.as_deref().map(|text| flatten(text, LONGEST));
        match kind {
            Kind::Progress { turn, tool, text, elapsed_ms } => {
                let tool = short(tool);
                let news = *turn != self.turn || tool != self.tool;
                (self.turn, self.tool, self.elapsed_ms) = (*turn, tool, *elapsed_ms);
                self.text = short(text).or(self.text.take());
                news
            }
            Kind::Usage { model, tokens } => {
                self.usage.insert(flatten(model, LONGEST), *tokens);
                false
            }
            Kind::Denial(_) => {
                self.denials += 1;
                true
            }
            Kind::Check { command, exit_code } => {
                self.check = Some((flatten(command, LONGEST), *exit_code == Some(0)));
                true
            }
            _ => false,
        }
    }

    /// Fresh tokens: read for the first time, cached, written.
    pub fn fresh(&self) -> u64 {
        self.usage.values().map(|tokens| tokens.input + tokens.cache_creation + tokens.output).sum()
    }

    /// In one line.
    pub fn line(&self) -> String {
        let mut line = format!("turn {}", self.turn.max(1));
        if let Some(tool) = &self.tool {
            line.push_str(&format!(", {tool}"));
        }
        if let Some((command, passed)) = &self.check {
            line.push_str(&format!(", check `{command}` {}", if *passed { "passed" } else { "failed" }));
        }
        if let Some(text) = self.text.as_ref().filter(|text| !text.is_empty()) {
            line.push_str(&format!(": {text}"));
        }
        line
    }
}
