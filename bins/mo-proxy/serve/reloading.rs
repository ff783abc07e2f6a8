//! When the configuration is read anew: on SIGHUP, and when one of its files has changed. A bad one is told and
//! changes nothing; requests that run keep what they began with.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::world::World;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::gateway::Gateway;
use crate::route::Routes;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// The files, as they were when they were last looked at.
type Stamps = BTreeMap<PathBuf, Option<(SystemTime, u64)>>;

/// From now on this signal is ours.
pub fn hangup() -> Result<Signal> {
    signal(SignalKind::hangup())
        .map_err(|error| Error::new(Exit::Io, "cannot listen to signals").because(&error))
}

/// Reads anew when it is asked to, and when something has changed.
pub async fn run(world: World, mut hangup: Signal, gateway: Arc<Gateway>) {
    let mut before = stamps(&world);
    loop {
        let asked = tokio::select! {
            _ = hangup.recv() => true,
            () = tokio::time::sleep(LOOK) => false,
        };
        let now = stamps(&world);
        if asked || now != before {
            before = now;
            let (world, gateway) = (world.clone(), Arc::clone(&gateway));
            // Files are read beside the event loop: a slow disk must not hold streams up.
            let _ = tokio::task::spawn_blocking(move || reload(&world, &gateway)).await;
        }
    }
}

fn reload(world: &World, gateway: &Gateway) {
    match gateway.reload(world) {
        Ok(()) => world.say.note("the configuration was read anew"),
        Err(error) => {
            world.say.error(&error);
            world.say.note("the configuration before stays in force");
        }
    }
}

/// The configuration, the presets, and every worker's two files.
fn stamps(world: &World) -> Stamps {
    let mut paths: Vec<PathBuf> =
        Routes::config_path(world).into_iter().chain(world.paths.presets()).collect();
    let workers = world.paths.root().ok().and_then(|root| fs::read_dir(root).ok());
    for entry in workers.into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with('.') {
            paths.extend([entry.path().join("settings.json"), entry.path().join("worker.json")]);
        }
    }
    let stamp =
        |path: &PathBuf| fs::metadata(path).ok().and_then(|meta| Some((meta.modified().ok()?, meta.len())));
    paths.into_iter().map(|path| (path.clone(), stamp(&path))).filter(|(_, stamp)| stamp.is_some()).collect()
}
