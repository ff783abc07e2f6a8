//! `mo-proxy service`: the gateway as a service of the user, started at login and again when it fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use shared::bin_link;
use shared::env;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file::{self, Durability};
use shared::flatten::flatten;
use shared::search;
use shared::world::World;

use super::service_file::{LABEL, MARK, UNIT, agent, unit};
use crate::route::Routes;

/// Variables that the gateway understands and a service would not get otherwise.
const PASSED_ON: [&str; 8] = [
    env::CLAUDE_WORKERS_ROOT,
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "LOG_LEVEL",
];

/// Installs or removes it.
pub fn run(world: &World, what: &str) -> Result<Exit> {
    match what {
        "install" => install(world),
        "uninstall" => uninstall(world),
        _ => Err(Error::new(Exit::Usage, format!("there is no `service {}`", flatten(what, 40)))
            .hint("mo-proxy service install, or uninstall")),
    }
}

/// The system's manager of services.
enum Manager {
    Systemd(PathBuf),
    Launchd(PathBuf),
}

impl Manager {
    fn find(world: &World) -> Result<Self> {
        if cfg!(target_os = "macos") {
            return search::on_path("launchctl", &world.env).map(Self::Launchd).ok_or_else(none);
        }
        search::on_path("systemctl", &world.env).map(Self::Systemd).ok_or_else(none)
    }

    fn file(&self, world: &World) -> Result<PathBuf> {
        let home = world.paths.home()?;
        Ok(match self {
            Self::Systemd(_) => home.join(".config/systemd/user").join(UNIT),
            Self::Launchd(_) => home.join("Library/LaunchAgents").join(format!("{LABEL}.plist")),
        })
    }
}

fn none() -> Error {
    Error::new(Exit::Config, "neither systemd nor launchd is here")
        .hint("let your own supervisor run `mo-proxy serve`; it ends on SIGTERM and reloads on SIGHUP")
}

fn install(world: &World) -> Result<Exit> {
    // What a service would fail with is better told now.
    Routes::load(world)?;
    let manager = Manager::find(world)?;
    let path = manager.file(world)?;
    refuse_foreign(&path)?;
    let root = world.paths.root()?;
    file::create_private_dir(root)?;
    // Through the link that follows upgrades; its target changes, the service's text does not.
    bin_link::keep(world)?;
    let program = world.paths.bin()?.join("mo-proxy");
    let variables: Vec<(String, String)> = PASSED_ON
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), world.env.text(name)?.to_owned())))
        .collect();
    let text = match &manager {
        Manager::Systemd(_) => unit(&program, root, &variables),
        Manager::Launchd(_) => agent(&program, &world.paths.log()?.join("mo-proxy.log"), &variables),
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Error::io("cannot create", folder, &error))?;
    }
    file::create_private_dir(&world.paths.log()?)?;
    file::replace(&path, text.as_bytes(), file::PRIVATE, Durability::Synced)?;
    match &manager {
        Manager::Systemd(systemctl) => {
            ask(systemctl, &["--user", "daemon-reload"])?;
            ask(systemctl, &["--user", "enable", UNIT])?;
            // Also after an upgrade: what runs is the new one.
            ask(systemctl, &["--user", "restart", UNIT])?;
        }
        Manager::Launchd(launchctl) => {
            let path = path.to_string_lossy();
            // Not loaded yet is no failure.
            let _ = ask(launchctl, &["unload", &path]);
            ask(launchctl, &["load", "-w", &path])?;
        }
    }
    world.say.note(&format!("the gateway is a service now: {}", path.display()));
    Ok(Exit::Done)
}

fn uninstall(world: &World) -> Result<Exit> {
    let manager = Manager::find(world)?;
    let path = manager.file(world)?;
    if !path.exists() {
        world.say.note("the gateway is no service");
        return Ok(Exit::Done);
    }
    refuse_foreign(&path)?;
    // What cannot be stopped because it does not run is no failure; the file goes all the same.
    let stopped = match &manager {
        Manager::Systemd(systemctl) => ask(systemctl, &["--user", "disable", "--now", UNIT]),
        Manager::Launchd(launchctl) => ask(launchctl, &["unload", "-w", &path.to_string_lossy()]),
    };
    std::fs::remove_file(&path).map_err(|error| Error::io("cannot remove", &path, &error))?;
    if let Manager::Systemd(systemctl) = &manager {
        let _ = ask(systemctl, &["--user", "daemon-reload"]);
    }
    if let Err(error) = stopped {
        world.say.error(&error);
    }
    world.say.note("the gateway is no service any more");
    Ok(Exit::Done)
}

/// A file of that name that somebody else made stays.
fn refuse_foreign(path: &Path) -> Result<()> {
    match file::read_if_there(path, 1 << 20)? {
        Some(text) if !String::from_utf8_lossy(&text).contains(MARK) => {
            Err(Error::new(Exit::Config, "this service was not made by us:")
                .at(path)
                .hint("move it away, then install again"))
        }
        _ => Ok(()),
    }
}

fn ask(manager: &Path, words: &[&str]) -> Result<()> {
    let output = Command::new(manager)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::io("cannot run", manager, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(Error::new(Exit::CouldNot, format!("`{} {}` failed", manager.display(), words.join(" ")))
        .caused_by(flatten(last, 300))
        .hint("without a user session: loginctl enable-linger, log in again, and try again"))
}
