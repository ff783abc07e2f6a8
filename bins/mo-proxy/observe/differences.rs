//! Where another model was at work than the one that was meant: a client that ignored what an agent's file names, an
//! upstream that answered as another than it was asked for. Each is told once, and counted from then on.

use serde::{Deserialize, Serialize};
use shared::audit_line::AuditLine;
use shared::flatten::flatten;

/// The most that are kept.
const MOST: usize = 200;
/// The most that are shown.
const SHOWN: usize = 10;
/// The longest name that is shown.
const LONGEST: usize = 60;

/// Who did not do what was asked of it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    /// The client asked for another model than the agent names.
    Client,
    /// The upstream answered as another model than it was asked for.
    Upstream,
}

impl Who {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Upstream => "upstream",
        }
    }
}

/// One difference, as often as it was met.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Difference {
    /// Who made it.
    pub by: Who,
    /// The agent or the upstream.
    pub of: String,
    /// The session, of a client.
    pub session: Option<String>,
    /// The model that was meant.
    pub meant: String,
    /// The model that it became.
    pub became: String,
    /// How often.
    pub times: u64,
}

impl Difference {
    /// In words.
    pub fn sentence(&self) -> String {
        let cut = |text: &str| flatten(text, LONGEST);
        let (of, meant, became) = (cut(&self.of), cut(&self.meant), cut(&self.became));
        let times = if self.times == 1 { "once".to_owned() } else { format!("{} times", self.times) };
        match self.by {
            Who::Client => format!("agent {of} names {meant}; the client asked for {became}, {times}"),
            Who::Upstream => format!("{of} was asked for {meant} and answered as {became}, {times}"),
        }
    }
}

/// What a line tells, if anything; at most one of each kind.
pub fn of_line(line: &AuditLine) -> impl Iterator<Item = Difference> {
    let difference = |by, of: &Option<String>, meant: &Option<String>, became: &Option<String>| {
        Some(Difference {
            by,
            of: of.clone().unwrap_or_default(),
            session: None,
            meant: meant.clone()?,
            became: became.clone()?,
            times: 1,
        })
    };
    let client = difference(Who::Client, &line.agent, &line.model_named, &line.model_asked)
        .map(|client| Difference { session: line.session_id.clone(), ..client });
    let provider = Some(line.provider.clone());
    let upstream = difference(Who::Upstream, &provider, &line.model_sent, &line.model_used);
    client.into_iter().chain(upstream)
}

/// All that were met.
#[derive(Clone, Debug, Default)]
pub struct Differences(Vec<Difference>);

impl Differences {
    /// Counts one; tells whether it is new.
    pub fn note(&mut self, new: Difference) -> bool {
        let same = |old: &Difference| Difference { times: 0, ..old.clone() };
        if let Some(old) = self.0.iter_mut().find(|old| same(old) == same(&new)) {
            old.times += new.times;
            return false;
        }
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(new);
        true
    }

    /// The newest.
    pub fn newest(&self) -> &[Difference] {
        self.0.get(self.0.len().saturating_sub(SHOWN)..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_new_once_and_counted_from_then_on() {
        let line = AuditLine {
            provider: "glm".into(),
            session_id: Some("s".into()),
            agent: Some("explorer".into()),
            model_named: Some("mo-explorer".into()),
            model_asked: Some("claude-x".into()),
            model_sent: Some("glm-5.2".into()),
            model_used: Some("glm-4.7\u{1b}".into()),
            ..AuditLine::default()
        };
        let mut all = Differences::default();
        let noted: Vec<bool> =
            (0..2).flat_map(|_| of_line(&line)).map(|difference| all.note(difference)).collect();
        assert_eq!(noted, [true, true, false, false]);
        let said: Vec<String> = all.newest().iter().map(Difference::sentence).collect();
        assert_eq!(said[0], "agent explorer names mo-explorer; the client asked for claude-x, 2 times");
        assert_eq!(said[1], "glm was asked for glm-5.2 and answered as glm-4.7, 2 times");
        assert!(all.note(Difference { session: Some("other".into()), ..all.newest()[0].clone() }));
        assert_eq!(of_line(&AuditLine { model_sent: None, ..AuditLine::default() }).count(), 0);
        for number in 0..1_000 {
            all.note(Difference { of: number.to_string(), ..all.newest()[0].clone() });
        }
        assert!(all.0.len() <= MOST && all.newest().len() == SHOWN);
    }
}
