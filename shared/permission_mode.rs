//! Claude Code's permission modes, from the narrowest to the loosest.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::flatten::flatten;

/// What a session may do without being asked. The order is that of looseness.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Look and plan, change nothing.
    Plan,
    /// What is not allowed beforehand is denied.
    DontAsk,
    /// What is not allowed beforehand is asked for.
    #[default]
    Default,
    /// Edits of files need no question.
    AcceptEdits,
    /// A classifier answers for the user.
    Auto,
    /// Nothing is asked for.
    BypassPermissions,
}

impl PermissionMode {
    /// All of them, in order.
    pub const ALL: [Self; 6] =
        [Self::Plan, Self::DontAsk, Self::Default, Self::AcceptEdits, Self::Auto, Self::BypassPermissions];

    /// Its name, as behind `--permission-mode`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::DontAsk => "dontAsk",
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Auto => "auto",
            Self::BypassPermissions => "bypassPermissions",
        }
    }

    /// The mode of this name, or what is wrong with it.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::new(Exit::Usage, format!("there is no permission mode `{}`", flatten(name, 40)))
                .hint(format!("the modes are {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_has_one_name_and_its_place() {
        for mode in PermissionMode::ALL {
            assert_eq!(PermissionMode::parse(mode.name()).unwrap(), mode);
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.name());
        }
        assert!(PermissionMode::ALL.is_sorted());
        assert!(PermissionMode::parse("bypasspermissions").is_err());
    }
}
