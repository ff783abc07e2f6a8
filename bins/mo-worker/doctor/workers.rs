//! Every worker: how far it is, whether its shim and its own name agree with its directory, where its key lies.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use shared::auth::Auth;
use shared::file;
use shared::name::Name;
use shared::roster::{self, Entry};
use shared::settings::PLACEHOLDER;
use shared::worker::{SHIM, State, Worker};
use shared::world::World;

use super::line::{Line, Mark};
use super::mending::Mending;
use crate::shim;
use crate::standing::Standing;

/// A shim larger than this is not ours to judge.
const SHIM_CAP: u64 = 64 << 10;

/// What a worker's `run` is.
#[derive(Debug, Eq, PartialEq)]
enum Shim {
    /// As we write it.
    Ours,
    /// There is none.
    Missing,
    /// Ours, but nobody may run it.
    NotExecutable,
    /// Ours, for the worker of this name.
    Names(String),
    /// The earlier plugin's: it exports the variables itself, and lets traps through.
    Earlier,
    /// Something of the user's.
    Foreign,
}

impl Shim {
    fn read(directory: &Path, name: &Name) -> Self {
        let path = directory.join(SHIM);
        let Ok(bytes) = file::read(&path, SHIM_CAP) else {
            return if fs::symlink_metadata(&path).is_err() { Self::Missing } else { Self::Foreign };
        };
        let executable = fs::metadata(&path).is_ok_and(|meta| meta.permissions().mode() & 0o100 != 0);
        Self::of(&String::from_utf8_lossy(&bytes), executable, name)
    }

    fn of(text: &str, executable: bool, name: &Name) -> Self {
        if text == shim::text(name) {
            return if executable { Self::Ours } else { Self::NotExecutable };
        }
        if let Some(named) = shim::named(text) {
            return Self::Names(named.to_owned());
        }
        let earlier = text.contains("CLAUDE_CONFIG_DIR") && !text.contains("mo-spawn");
        if earlier { Self::Earlier } else { Self::Foreign }
    }
}

/// Looks at all of them.
pub fn look(world: &World) -> Vec<Line> {
    let roster = match roster::read(&world.paths) {
        Ok(roster) => roster,
        Err(error) => return vec![Line::of_error(Mark::Bad, "workers", &error)],
    };
    if roster.is_empty() {
        let next = "`mo-worker create glm --preset zai` makes one; `mo-preset list` shows the providers";
        return vec![Line::warn("workers", "there are none yet").next(next)];
    }
    roster.iter().flat_map(|entry| one(world, entry)).collect()
}

fn one(world: &World, entry: &Entry) -> Vec<Line> {
    let subject = format!("worker {}", shared::flatten::flatten(&entry.name, 64));
    let mut lines = vec![match &entry.worker {
        Ok(worker) if worker.is_account() => account(world, &subject, worker),
        Ok(worker) => state(&subject, worker),
        Err(error) => Line::of_error(Mark::Bad, &subject, error),
    }];
    let directory = world.paths.worker(&entry.name);
    if let (Ok(name), Ok(directory)) = (Name::parse(&entry.name), directory)
        && fs::symlink_metadata(&directory).is_ok_and(|meta| meta.is_dir())
    {
        let found = Shim::read(&directory, &name);
        lines.extend(run(&subject, &found).map(|line| match found {
            Shim::Foreign => line,
            _ => line.mend(Mending::Shim(directory.clone(), name.clone())),
        }));
    }
    if let Ok(worker) = &entry.worker {
        lines.extend(own_name(&subject, worker));
        lines.extend(keys(&subject, worker));
    }
    lines
}

fn state(subject: &str, worker: &Worker) -> Line {
    let name = &worker.name;
    match worker.state() {
        State::NeedsKey => Line::bad(subject, "needs key").next(format!("`mo-key {name}`")),
        State::Unchecked if worker.profile.version == 0 => {
            Line::warn(subject, "made by the earlier plugin: works, unchecked")
                .next(format!("`mo-worker check {name}`"))
        }
        State::Unchecked => Line::warn(subject, "unchecked").next(format!("`mo-worker check {name}`")),
        state @ State::Live(_) => Line::ok(subject, crate::shown::state(&state)),
        state @ State::Failing(_) => Line::bad(subject, crate::shown::state(&state))
            .next(format!("`mo-worker check {name}` says more")),
    }
}

fn account(world: &World, subject: &str, worker: &Worker) -> Line {
    let name = &worker.name;
    match Standing::of(world, worker) {
        Standing::Off => Line::warn(subject, "another Claude account; several accounts are off")
            .next("`mo-worker accounts on`"),
        Standing::Account(login) if !login.is_in => {
            Line::bad(subject, "logged out").next(format!("`mo-worker login {name}`"))
        }
        Standing::Unclear => Line::bad(subject, "Claude Code does not say whether it is logged in")
            .next(format!("`mo-spawn {name} auth status` shows what it says")),
        Standing::Provider | Standing::Account(_) => state(subject, worker),
    }
}

fn run(subject: &str, shim: &Shim) -> Option<Line> {
    let what = match shim {
        Shim::Ours => return None,
        Shim::Foreign => return Some(Line::warn(subject, "its `run` is not ours, and stays as it is")),
        Shim::Earlier => {
            return Some(Line::warn(
                subject,
                "its `run` is the earlier plugin's: it lets the session's own settings through",
            ));
        }
        Shim::Missing => "its `run` is missing".to_owned(),
        Shim::NotExecutable => "its `run` is not executable".to_owned(),
        Shim::Names(other) => {
            format!("its `run` starts the worker `{}`", shared::flatten::flatten(other, 64))
        }
    };
    Some(Line::bad(subject, what))
}

fn own_name(subject: &str, worker: &Worker) -> Option<Line> {
    let profile = &worker.profile;
    if profile.version == 0 || profile.name == worker.name.as_str() {
        return None;
    }
    let what = format!("its worker.json calls it `{}`", shared::flatten::flatten(&profile.name, 64));
    Some(Line::warn(subject, what).mend(Mending::Name(worker.directory.clone(), worker.name.clone())))
}

fn keys(subject: &str, worker: &Worker) -> Option<Line> {
    let stored = |auth: Auth| worker.settings.get(auth.variable()).is_some_and(|key| key != PLACEHOLDER);
    let (used, unused) = match worker.profile.auth {
        Auth::Bearer => (Auth::Bearer, Auth::XApiKey),
        Auth::XApiKey => (Auth::XApiKey, Auth::Bearer),
    };
    if worker.profile.key_command.is_some() && (stored(used) || stored(unused)) {
        let what = "its key comes from a command, and one is stored in settings.json as well";
        return Some(
            Line::bad(subject, what).next("take the stored one out: it is not used, and can be read there"),
        );
    }
    if stored(unused) {
        let what = format!("{} in its settings.json is not used: its auth is {used}", unused.variable());
        return Some(Line::warn(subject, what).next("take it out"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> Name {
        Name::parse("glm").unwrap()
    }

    fn worker(settings: &str, profile: &str) -> Worker {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("settings.json"), settings).unwrap();
        fs::write(home.path().join("worker.json"), profile).unwrap();
        Worker::read(home.path().to_owned(), &name()).unwrap()
    }

    #[test]
    fn shims_are_told_apart() {
        let ours = shim::text(&name());
        assert_eq!(Shim::of(&ours, true, &name()), Shim::Ours);
        assert_eq!(Shim::of(&ours, false, &name()), Shim::NotExecutable);
        assert_eq!(Shim::of(&ours.replace("glm", "kimi"), true, &name()), Shim::Names("kimi".into()));
        let earlier = "#!/bin/bash\nexport CLAUDE_CONFIG_DIR=\"$(dirname \"$0\")\"\nexec claude \"$@\"\n";
        assert_eq!(Shim::of(earlier, true, &name()), Shim::Earlier);
        assert_eq!(Shim::of("#!/bin/sh\nexec mo-spawn glm --model opus\n", true, &name()), Shim::Foreign);
    }

    #[test]
    fn a_key_in_two_places_is_told_and_not_shown() {
        let settings = r#"{"env": {"ANTHROPIC_BASE_URL": "https://h", "ANTHROPIC_AUTH_TOKEN": "sk-secret"}}"#;
        let told = |profile: &str| keys("w", &worker(settings, profile));
        assert!(told(r#"{"version": 1}"#).is_none());
        let both = told(r#"{"version": 1, "key_command": ["pass"]}"#).unwrap();
        assert!(both.mark == Mark::Bad && !both.what.contains("sk-secret"));
        assert_eq!(told(r#"{"version": 1, "auth": "x-api-key"}"#).unwrap().mark, Mark::Warn);
    }

    #[test]
    fn the_directory_is_the_name() {
        let settings = r#"{"env": {"ANTHROPIC_BASE_URL": "https://h"}}"#;
        assert!(own_name("w", &worker(settings, r#"{"version": 1, "name": "glm"}"#)).is_none());
        assert!(
            own_name("w", &worker(settings, r#"{"version": 1, "name": "old"}"#)).unwrap().mending.is_some()
        );
    }
}
