//! What the keeper is told on its command line. Everybody can read it there, so it holds no secret.

use std::ffi::{OsStr, OsString};

use serde::{Deserialize, Serialize};

use crate::sandbox::{Confinement, Sandbox};

/// The first word of a keeper's command line; no worker can have this name.
pub const WORD: &str = "@keep";

/// Which of the processes between mo-spawn and Claude Code this is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Watches mo-spawn and the inner one.
    Outer,
    /// Watches the outer one and Claude Code.
    Inner,
    /// Becomes Claude Code.
    Last,
}

impl Stage {
    /// The stage that this one starts.
    pub fn next(self) -> Self {
        match self {
            Self::Outer => Self::Inner,
            Self::Inner | Self::Last => Self::Last,
        }
    }
}

/// How a worker is kept.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Orders {
    /// The stage that reads this.
    pub stage: Stage,
    /// The process above it, which must not have died meanwhile.
    pub above: u32,
    /// The dispatch, which marks every process of it; a keeper itself does not carry the mark.
    pub dispatch: Option<String>,
    /// Whether what the worker leaves running at its own end stays.
    pub keep_background: bool,
    /// What confines the worker.
    #[serde(default)]
    pub confinement: Option<Confinement>,
}

impl Orders {
    /// The orders of a whole run.
    pub fn new(dispatch: Option<String>, keep_background: bool) -> Self {
        Self { stage: Stage::Outer, above: std::process::id(), dispatch, keep_background, confinement: None }
    }

    /// The same for a worker inside this sandbox.
    pub fn within(self, sandbox: Option<&Sandbox>) -> Self {
        Self { confinement: sandbox.map(|sandbox| sandbox.confinement.clone()), ..self }
    }

    /// The same for the stage below this process.
    pub fn below(&self) -> Self {
        Self { stage: self.stage.next(), above: std::process::id(), ..self.clone() }
    }

    /// The words before the program's own.
    pub fn words(&self) -> serde_json::Result<[OsString; 2]> {
        Ok([WORD.into(), serde_json::to_string(self)?.into()])
    }

    /// Reads the words; nothing where they are not a keeper's.
    pub fn read(word: &OsStr) -> Option<Self> {
        serde_json::from_str(word.to_str()?).ok()
    }

    /// The mark in the environment of every process of this dispatch.
    pub fn mark(&self) -> String {
        let of = |id: &String| format!("{}={id}", shared::env::MO_DISPATCH);
        self.dispatch.as_ref().map(of).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_were_written_down_to_the_last_stage() {
        let orders = Orders::new(Some("d-1".to_owned()), true);
        let [word, text] = orders.words().unwrap();
        assert_eq!((word, Orders::read(&text)), (WORD.into(), Some(orders.clone())));
        assert_eq!(orders.below().stage, Stage::Inner);
        assert_eq!(orders.below().below().below().stage, Stage::Last);
        assert_eq!(Orders::read(OsStr::new("d-1")), None);
    }
}
