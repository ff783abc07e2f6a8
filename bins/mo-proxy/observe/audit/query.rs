//! Which lines of the audit are asked for.

use std::path::Path;

use shared::audit_files as files;
use shared::audit_line::AuditLine;

use super::chain;

/// Conditions; all of them hold for a line that is meant.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Not before this time, written as the lines write theirs.
    pub since: Option<String>,
    /// A model that was asked for or used.
    pub model: Option<String>,
    /// A session.
    pub session: Option<String>,
    /// A subagent, by its id or its agent's name.
    pub agent: Option<String>,
    /// A role.
    pub role: Option<String>,
    /// An upstream.
    pub provider: Option<String>,
    /// Only what did not end well.
    pub failed: bool,
}

impl Query {
    /// Whether this line is meant.
    pub fn takes(&self, line: &AuditLine) -> bool {
        let is = |wanted: &Option<String>, has: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| has == Some(wanted))
        };
        self.since.as_deref().is_none_or(|since| line.ts.as_str() >= since)
            && (is(&self.model, line.model_asked.as_deref()) || is(&self.model, line.model_used.as_deref()))
            && is(&self.session, line.session_id.as_deref())
            && (is(&self.agent, line.agent_id.as_deref()) || is(&self.agent, line.agent.as_deref()))
            && is(&self.role, line.role.as_deref())
            && is(&self.provider, Some(&line.provider))
            && (!self.failed || line.status >= 400 || line.error.is_some())
    }
}

/// Hands over every line that is meant, the oldest first, as long as the taker wants more. Lines that were changed
/// are left out: `audit verify` tells them.
pub fn each(directory: &Path, query: &Query, mut take: impl FnMut(AuditLine) -> bool) {
    for file in files::list(directory) {
        let Ok(lines) = files::lines(&file) else { continue };
        for line in lines.map_while(Result::ok) {
            if let Some((line, _)) = chain::open(&line.bytes)
                && query.takes(&line)
                && !take(line)
            {
                return;
            }
        }
    }
}
