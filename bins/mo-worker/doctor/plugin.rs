//! The plugin in Claude Code's own books: installed, switched on, from which marketplace, which version.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use shared::error::Result;
use shared::world::World;
use shared::{document, file};

use super::line::{Line, Mark};
use super::scope::Scope;

const SUBJECT: &str = "plugin";
const NAME: &str = "model-orchestration";
const OURS: &str = env!("CARGO_PKG_VERSION");

/// `plugins/installed_plugins.json`.
#[derive(Debug, Default, Deserialize)]
struct Book {
    #[serde(default)]
    plugins: BTreeMap<String, Entries>,
}

/// Older versions wrote one installation, newer ones write one a scope.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Entries {
    Many(Vec<Installation>),
    One(Installation),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Installation {
    install_path: Option<PathBuf>,
    version: Option<String>,
}

/// What lies in an installation's folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Folder {
    /// Ours.
    Ours,
    /// The earlier shell plugin of the same name.
    Earlier,
    /// Nothing that could run.
    Gone,
}

/// One marketplace's plugin of our name.
#[derive(Debug)]
struct Registration {
    market: String,
    /// As the settings say; nothing when they do not say.
    on: Option<bool>,
    /// Its folder and version, when it is installed.
    installed: Option<(Folder, String)>,
}

/// Looks into the books.
pub fn look(world: &World, scopes: &[Scope]) -> Vec<Line> {
    let book =
        world.paths.claude_config().and_then(|config| read(&config.join("plugins/installed_plugins.json")));
    match book {
        Ok(book) => judge(&registrations(&book, scopes, inspect)),
        Err(error) => vec![Line::of_error(Mark::Bad, SUBJECT, &error)],
    }
}

fn read(path: &Path) -> Result<Book> {
    let Some(bytes) = file::read_if_there(path, file::JSON_CAP)? else { return Ok(Book::default()) };
    document::must_be_object(path, &bytes)?;
    document::parse(path, &bytes)
}

/// Our hooks call mo-hook; those of the earlier plugin do not know it.
fn inspect(folder: &Path) -> Folder {
    match fs::read_to_string(folder.join("hooks/hooks.json")) {
        Ok(hooks) if hooks.contains("mo-hook") => Folder::Ours,
        Ok(_) => Folder::Earlier,
        Err(_) if folder.is_dir() => Folder::Earlier,
        Err(_) => Folder::Gone,
    }
}

fn registrations(book: &Book, scopes: &[Scope], inspect: fn(&Path) -> Folder) -> Vec<Registration> {
    let in_settings = scopes.iter().flat_map(|scope| scope.document.plugins()).map(|(id, _)| id);
    let ids: BTreeSet<&str> = book.plugins.keys().map(String::as_str).chain(in_settings).collect();
    ids.into_iter()
        .filter_map(|id| {
            let market = id.strip_prefix(NAME)?.strip_prefix('@')?.to_owned();
            let switches = scopes.iter().flat_map(|scope| scope.document.plugins());
            let on = switches.into_iter().find(|(other, _)| *other == id).map(|(_, on)| on);
            let installation = match book.plugins.get(id) {
                Some(Entries::Many(many)) => many.last(),
                Some(Entries::One(one)) => Some(one),
                None => None,
            };
            let installed = installation.map(|one| {
                let folder = one.install_path.as_deref().map_or(Folder::Gone, inspect);
                (folder, one.version.clone().unwrap_or_else(|| "unknown".to_owned()))
            });
            Some(Registration { market, on, installed })
        })
        .collect()
}

fn judge(found: &[Registration]) -> Vec<Line> {
    if found.is_empty() {
        let next = format!("`make install` installs it, or `claude plugin install {NAME}@MARKETPLACE`");
        return vec![
            Line::warn(SUBJECT, "not installed in Claude Code: sessions do not learn of the workers")
                .next(next),
        ];
    }
    let mut lines: Vec<Line> = found.iter().map(one).collect();
    let working = found.iter().filter(|one| one.on == Some(true) && one.installed.is_some());
    let markets: Vec<_> = working.map(|one| one.market.as_str()).collect();
    if markets.len() > 1 {
        let what =
            format!("switched on more than once, from {}: every hook runs twice", markets.join(" and "));
        lines.push(Line::bad(SUBJECT, what).next(format!("`claude plugin uninstall {NAME}@…` all but one")));
    }
    lines
}

fn one(found: &Registration) -> Line {
    let id = format!("{NAME}@{}", found.market);
    let Some((folder, version)) = &found.installed else {
        let what = format!("{id} stands in Claude Code's settings and is not installed");
        return Line::warn(SUBJECT, what).next(format!("`claude plugin install {id}`"));
    };
    match (folder, found.on) {
        (Folder::Gone, _) => Line::bad(SUBJECT, format!("{id} is installed, and its folder is gone"))
            .next(format!("`claude plugin uninstall {id}`, then install it again")),
        (Folder::Earlier, _) => Line::bad(SUBJECT, format!("{id} {version} is the earlier shell plugin"))
            .next(format!("`claude plugin uninstall {id}`, then `make install`")),
        (Folder::Ours, Some(true)) if version == OURS => {
            Line::ok(SUBJECT, format!("{version} from {}, switched on", found.market))
        }
        (Folder::Ours, Some(true)) => Line::warn(
            SUBJECT,
            format!("{version} from {}, switched on, and the programs are {OURS}", found.market),
        )
        .next(format!(
            "`claude plugin marketplace update {}`, then `claude plugin update {id}`",
            found.market
        )),
        (Folder::Ours, _) => Line::warn(SUBJECT, format!("{version} from {}, switched off", found.market))
            .next(format!("`claude plugin enable {id}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::scope::holding;
    use super::*;

    fn lines(book: &str, settings: &str, folder: fn(&Path) -> Folder) -> Vec<(Mark, String)> {
        let book: Book = serde_json::from_str(book).unwrap();
        let lines = judge(&registrations(&book, &[holding("user", false, settings)], folder));
        lines.into_iter().map(|line| (line.mark, line.what)).collect()
    }

    fn ours(_: &Path) -> Folder {
        Folder::Ours
    }

    const ON: &str = r#"{"enabledPlugins": {"model-orchestration@m": true, "other@m": true}}"#;

    fn book(version: &str) -> String {
        format!(
            r#"{{"version": 2, "plugins": {{"model-orchestration@m": [{{"scope": "user", "installPath": "/p",
            "version": "{version}"}}], "other@m": []}}}}"#
        )
    }

    #[test]
    fn every_state_of_a_registration_is_told_apart() {
        let at = |book: &str, settings: &str, folder| lines(book, settings, folder).remove(0);
        assert_eq!(at(&book(OURS), ON, ours), (Mark::Ok, format!("{OURS} from m, switched on")));
        assert_eq!(at(&book("0.0.1"), ON, ours).0, Mark::Warn);
        assert!(at(&book(OURS), &ON.replace("true", "false"), ours).1.ends_with("switched off"));
        assert!(at(&book(OURS), "{}", ours).1.ends_with("switched off"));
        assert!(at(&book("0.5.0"), ON, |_| Folder::Earlier).1.ends_with("is the earlier shell plugin"));
        assert!(at(&book(OURS), ON, |_| Folder::Gone).1.ends_with("its folder is gone"));
        assert!(at("{}", ON, ours).1.ends_with("is not installed"));
        assert!(at("{}", "{}", ours).1.starts_with("not installed"));
        let old = r#"{"version": 1, "plugins": {"model-orchestration@m": {"installPath": "/p", "version": "0.1.0"}}}"#;
        assert_eq!(at(old, ON, ours).0, Mark::Ok);
    }

    #[test]
    fn two_marketplaces_at_once_are_one_too_many() {
        let both = book(OURS)
            .replace("other@m", "model-orchestration@n")
            .replace("[]", r#"[{"installPath": "/q"}]"#);
        let on = ON.replace("other@m", "model-orchestration@n");
        let last = lines(&both, &on, ours).pop().unwrap();
        assert!(last.0 == Mark::Bad && last.1.contains("from m and n"), "{last:?}");
    }
}
