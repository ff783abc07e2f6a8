//! How long finished dispatches are remembered: a time or a number, whichever is more, and never forgotten while their
//! work is only here.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use shared::clock::{self, rfc3339};
use shared::dispatch_config::DispatchConfig;
use shared::dispatches;
use shared::error::Result;
use shared::file::{self, Durability};
use shared::record::{Record, Status};
use shared::world::World;

use crate::worktree;

/// So many are kept however old they are.
const COUNT: usize = 5000;
const DAY: i64 = 24 * 3600;

/// What is kept.
#[derive(Clone, Copy, Debug)]
struct Retention {
    days: i64,
    count: usize,
}

/// Forgets what is old enough. Tells how many dispatches that were.
pub fn clear(world: &World) -> Result<usize> {
    let days = DispatchConfig::load(&world.paths)?.keep_days;
    Retention { days: i64::from(days), count: COUNT }.clear(world)
}

/// The same without being asked, once a day: nobody waits for it, and nobody hears of its troubles.
pub fn now_and_then(world: &World) {
    let Ok(directory) = world.paths.dispatch() else { return };
    let (stamp, now) = (directory.join("cleared"), rfc3339(world.clock.now()));
    let today = now.get(..10).unwrap_or_default();
    let known = file::read_if_there(&stamp, 64).ok().flatten();
    if directory.is_dir() && known.as_deref() != Some(today.as_bytes()) {
        let _ = file::replace(&stamp, today.as_bytes(), file::PRIVATE, Durability::Lazy);
        let _ = clear(world);
    }
}

impl Retention {
    fn clear(self, world: &World) -> Result<usize> {
        let files = dispatches::files(&world.paths)?;
        let before = rfc3339(clock::before(world.clock.now(), self.days * DAY));
        let surplus = files.len().saturating_sub(self.count);
        let mut cleared = 0;
        for path in files.iter().take(surplus) {
            // One that cannot be read is for a person to look at.
            let Ok(Some(record)) = Record::read(path) else { continue };
            if has_ended_before(&record, &before) && !holds_work(world, &record) {
                forget(world, path, &record);
                cleared += 1;
            }
        }
        Ok(cleared)
    }
}

/// Times of our own making compare as text.
fn has_ended_before(record: &Record, time: &str) -> bool {
    let ended = record.ended_at.as_deref().filter(|ended| ended.parse::<Timestamp>().is_ok());
    record.status.is_some_and(Status::is_final) && ended.is_some_and(|ended| ended < time)
}

/// Whether there is still a tree or a branch of it: whoever prunes those asks for the record.
fn holds_work(world: &World, record: &Record) -> bool {
    let branch = record.repo.as_deref().zip(record.branch.as_deref());
    worktree::remains(world, &record.id, branch).unwrap_or(true)
}

/// Takes the record and all that belongs to it away: the links first, so that none leads nowhere.
fn forget(world: &World, path: &Path, record: &Record) {
    if let Some(session) =
        record.manager_session.as_deref().filter(|session| shared::record::is_session(session))
        && let Ok(directory) = world.paths.dispatches_of(session)
    {
        let _ = fs::remove_file(directory.join(&record.id));
        // Only where nothing else is in it.
        let _ = fs::remove_dir(directory);
    }
    for belonging in ["prompt", "events", "told", "system", "task"] {
        let _ = fs::remove_file(path.with_extension(belonging));
    }
    let _ = fs::remove_file(path);
    let _ = path.parent().map(fs::remove_dir);
}

#[cfg(test)]
mod tests {
    use shared::dispatch_id::DispatchId;
    use shared::env::Env;
    use shared::paths::Paths;
    use shared::say::Say;
    use shared::terminal::Terminal;

    use super::*;

    fn world(home: &Path) -> World {
        let now = ("MODEL_ORCHESTRATION_NOW", "2026-12-01T12:00:00Z".as_ref());
        let path = ("PATH", "/usr/local/bin:/usr/bin:/bin".as_ref());
        let env: Env = [("HOME", home.as_os_str()), now, path].into_iter().collect();
        World {
            clock: clock::Clock::of(&env).unwrap(),
            paths: Paths::of(&env),
            terminal: Terminal::default(),
            say: Say::new("mo-spawn"),
            env,
        }
    }

    fn record(world: &World, ended: &str, change: impl FnOnce(&mut Record)) -> String {
        let at = ended.parse().unwrap();
        let id = DispatchId::new(at);
        let mut record = Record {
            version: 1,
            id: id.to_string(),
            status: Some(Status::Done),
            ended_at: Some(rfc3339(at)),
            manager_session: Some("s-1".to_owned()),
            ..Record::default()
        };
        change(&mut record);
        let path = Record::path(&world.paths, &id, at).unwrap();
        record.write(&path).unwrap();
        record.index(&world.paths, &path).unwrap();
        for belonging in ["prompt", "events", "told", "system", "task"] {
            fs::write(path.with_extension(belonging), "x").unwrap();
        }
        id.to_string()
    }

    fn left(world: &World) -> Vec<String> {
        let names = dispatches::files(&world.paths).unwrap();
        names.iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_is_old_and_more_than_enough_goes_with_all_that_belongs_to_it() {
        let home = tempfile::tempdir().unwrap();
        let world = world(home.path());
        let old = record(&world, "2026-01-01T00:00:00Z", |_| {});
        let running = record(&world, "2026-01-02T00:00:00Z", |record| record.status = Some(Status::Running));
        let within = record(&world, "2026-10-01T00:00:00Z", |_| {});
        let new = record(&world, "2026-12-01T00:00:00Z", |_| {});
        let retention = |count| Retention { days: 90, count };
        assert_eq!(retention(4).clear(&world).unwrap(), 0);
        assert_eq!(retention(0).clear(&world).unwrap(), 1);
        assert_eq!(left(&world), [running, within, new]);
        let links = fs::read_dir(world.paths.dispatches_of("s-1").unwrap()).unwrap();
        assert!(links.flatten().all(|link| link.file_name().to_string_lossy() != old));
        let month = world.paths.dispatch().unwrap().join("2026-01");
        // That of the one that runs, and what belongs to it.
        assert_eq!(fs::read_dir(month).unwrap().count(), 6);
    }

    #[test]
    fn what_still_has_a_tree_or_a_branch_stays() {
        let home = tempfile::tempdir().unwrap();
        let world = world(home.path());
        let repo = home.path().join("repo");
        fs::create_dir(&repo).unwrap();
        let git = |words: &[&str]| {
            let mut command = std::process::Command::new("git");
            let user = ["-c", "user.name=u", "-c", "user.email=u@example.com"];
            let command = command.args(user).args(words).current_dir(&repo).env("HOME", home.path());
            assert!(command.output().unwrap().status.success(), "{words:?}");
        };
        git(&["init", "-q"]);
        git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        git(&["branch", "mo/kept"]);
        let on = |branch: &'static str| {
            let repo = repo.to_string_lossy().into_owned();
            move |record: &mut Record| (record.repo, record.branch) = (Some(repo), Some(branch.to_owned()))
        };
        let branched = record(&world, "2026-01-01T00:00:00Z", on("mo/kept"));
        record(&world, "2026-01-01T00:00:01Z", on("mo/gone"));
        let with_tree = record(&world, "2026-01-01T00:00:02Z", |_| {});
        let card = world.paths.worktrees().unwrap().join("repo-0").join(format!("{with_tree}.json"));
        fs::create_dir_all(card.parent().unwrap()).unwrap();
        fs::write(card, "{}").unwrap();
        assert_eq!(Retention { days: 90, count: 0 }.clear(&world).unwrap(), 1);
        assert_eq!(left(&world), [branched, with_tree]);
    }

    #[test]
    fn it_happens_by_itself_once_a_day() {
        let home = tempfile::tempdir().unwrap();
        let world = world(home.path());
        now_and_then(&world);
        assert!(!world.paths.dispatch().unwrap().exists());
        record(&world, "2026-01-01T00:00:00Z", |_| {});
        now_and_then(&world);
        assert_eq!(fs::read(world.paths.dispatch().unwrap().join("cleared")).unwrap(), b"2026-12-01");
        assert_eq!(left(&world).len(), 1);
    }
}
