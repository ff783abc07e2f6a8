//! Claude Code's own program: which version, and what it lacks, told by what it can do and not by its number.

use shared::claude::{self, KNOWN_TO_WORK};
use shared::paths;
use shared::world::World;

use super::line::{Line, Mark};
use crate::reply;

const SUBJECT: &str = "claude";

/// What its help must mention, what is lost without it, and how bad that is.
const ABILITIES: &[(&str, &str, Mark)] = &[
    ("--session-id", "no worker can be run: mo-spawn chooses the session's id", Mark::Bad),
    ("plugin", "the plugin cannot be installed: sessions do not learn of the workers", Mark::Bad),
    ("--plugin-dir", "a plugin cannot be tried for one session", Mark::Warn),
    ("--settings", "settings cannot be given for one session", Mark::Warn),
    ("--effort", "a worker's effort cannot be chosen", Mark::Warn),
    ("--include-hook-events", "a session cannot show what its hooks said", Mark::Warn),
];

/// What was found out.
pub struct Client {
    lines: Vec<Line>,
    /// Whether a project's settings can redirect a worker; nothing where it could not be seen.
    pub lets_projects_redirect: Option<bool>,
}

impl Client {
    /// Asks the program.
    pub fn look(world: &World) -> Self {
        let program = match claude::find(world) {
            Ok(program) => program,
            Err(error) => {
                let lines = vec![Line::of_error(Mark::Bad, SUBJECT, &error)];
                return Self { lines, lets_projects_redirect: None };
            }
        };
        let place = paths::shown(&program, &world.paths);
        let mut lines = match reply::of(&program, "--version") {
            Ok(answer) => vec![version(claude::version_in(&answer), KNOWN_TO_WORK.trim(), &place)],
            Err(error) => vec![Line::of_error(Mark::Bad, SUBJECT, &error)],
        };
        match reply::of(&program, "--help") {
            Ok(help) => lines.extend(lacks(&help)),
            Err(error) => lines.push(Line::of_error(Mark::Warn, SUBJECT, &error)),
        }
        let lets_projects_redirect = claude::knows(&program, claude::MANAGED_BY_HOST).map(|knows| !knows);
        if lets_projects_redirect == Some(true) {
            let what = "lacks the switch by which a worker ignores a project's own settings: a project that names another \
                        provider redirects it";
            lines.push(Line::warn(SUBJECT, what).next("update Claude Code"));
        }
        Self { lines, lets_projects_redirect }
    }

    /// Its lines.
    pub fn into_lines(self) -> Vec<Line> {
        self.lines
    }
}

fn version(version: Option<&str>, known: &str, place: &str) -> Line {
    let Some(version) = version else {
        return Line::bad(SUBJECT, format!("{place} does not say which version it is"))
            .next("is it Claude Code? `npm install -g @anthropic-ai/claude-code` installs it");
    };
    match numbers(version).cmp(&numbers(known)) {
        std::cmp::Ordering::Equal => Line::ok(SUBJECT, format!("{version} in {place}, known to work")),
        std::cmp::Ordering::Greater => {
            Line::ok(SUBJECT, format!("{version} in {place}, newer than {known}, which is known to work"))
        }
        std::cmp::Ordering::Less => {
            Line::warn(SUBJECT, format!("{version} in {place}, older than {known}, which is known to work"))
        }
    }
}

fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
}

fn lacks(help: &str) -> Vec<Line> {
    let words: Vec<&str> =
        help.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').collect();
    let missing = ABILITIES.iter().filter(|(word, _, _)| !words.contains(word));
    missing
        .map(|(word, loss, mark)| {
            let line = Line::bad(SUBJECT, format!("lacks `{word}`: {loss}")).next("update Claude Code");
            Line { mark: *mark, ..line }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_known_newer_or_older() {
        for (found, mark, word) in [
            ("2.1.332", Mark::Ok, ", known to work"),
            ("2.1.1000", Mark::Ok, "newer"),
            ("10.0.0", Mark::Ok, "newer"),
            ("2.0.76", Mark::Warn, "older"),
        ] {
            let line = version(Some(found), "2.1.332", "~/claude");
            assert!(line.mark == mark && line.what.contains(word), "{found}: {}", line.what);
        }
        assert_eq!(version(None, "2.1.332", "/x").mark, Mark::Bad);
    }

    #[test]
    fn what_is_lacking_is_told_by_the_help() {
        let all = "--settings <f> --session-id <uuid>\n --plugin-dir  --include-hook-events --effort plugin|plugins";
        assert!(lacks(all).is_empty());
        let lines = lacks(&all.replace("--session-id", "--session-idle").replace("--effort", ""));
        let found: Vec<_> =
            lines.iter().map(|line| (line.mark, line.what.split(':').next().unwrap())).collect();
        assert_eq!(found, [(Mark::Bad, "lacks `--session-id`"), (Mark::Warn, "lacks `--effort`")]);
    }
}
