//! The command `serve`: listens, announces itself, serves every connection, and ends in good order.

mod listener;
mod logging;
mod instance;
mod session;
mod files;
mod ending;
mod reloading;

use std::sync::Arc;
use std::time::Duration;

use shared::args::Matches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::world::World;
use tokio::task::JoinSet;

pub use self::instance::Announced;
use self::instance::Instance;
use self::listener::{Listener, Place};
use crate::gateway::{Gateway, Prepared};
use crate::stage::Stage;

/// The most threads: what a gateway does is short, and memory counts.
const MOST_THREADS: usize = 4;

/// How long the accounts of what was cut off may take.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How often idle connections are looked at.
const SWEEP: Duration = Duration::from_secs(20);

/// Runs the gateway.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let instance = Instance::claim(world)?;
    let prepared = Prepared::new(world)?;
    let place = Place::of(matches, &prepared.live.config.listen)?;
    logging::start(prepared.live.config.log);
    files::allow_many();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .max_blocking_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| Error::new(Exit::Io, "cannot start").because(&error))?;
    let ended = runtime.block_on(serve(world, prepared, &place, &instance));
    instance.withdraw();
    runtime.shutdown_background();
    ended
}

async fn serve(world: &World, prepared: Prepared, place: &Place, instance: &Instance) -> Result<Exit> {
    // Before anything is announced: from then on a signal must find us listening to it.
    let mut ending = ending::Ending::new()?;
    let hangup = reloading::hangup()?;
    let listener = Listener::bind(place).await?;
    let gateway = Arc::new(Gateway::new(world, prepared, listener.address(), instance.token()?)?);
    instance.announce(&gateway.address)?;
    world.say.note(&format!("listening on {}", gateway.address));
    gateway.anthropic.pool().warm();
    let accepting = tokio::spawn(accept(listener, Arc::clone(&gateway)));
    let sweeping = tokio::spawn(sweep(Arc::clone(&gateway)));
    let reloading = tokio::spawn(reloading::run(world.clone(), hangup, Arc::clone(&gateway)));
    ending.wait(world, &gateway).await;
    gateway.life.enter(Stage::Ending);
    // What was cut off is accounted for, too.
    let _ = tokio::time::timeout(LAST_WORDS, gateway.life.idle()).await;
    gateway.observer.close();
    for task in [accepting, sweeping, reloading] {
        task.abort();
        // A socket is taken away when its listener is dropped.
        let _ = task.await;
    }
    Ok(Exit::Done)
}

/// Takes connections until the gateway ends, and all of them down with it.
async fn accept(mut listener: Listener, gateway: Arc<Gateway>) {
    let mut sessions = JoinSet::new();
    let mut stage = gateway.life.watch();
    loop {
        tokio::select! {
            line = listener.next() => {
                if let Some(line) = line {
                    gateway.anthropic.pool().warm();
                    sessions.spawn(session::serve(line, Arc::clone(&gateway)));
                }
            }
            Some(_) = sessions.join_next() => {}
            _ = stage.wait_for(|stage| *stage == Stage::Ending) => break,
        }
    }
    sessions.shutdown().await;
}

/// Closes idle connections that nobody will use again.
async fn sweep(gateway: Arc<Gateway>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        gateway.anthropic.pool().sweep();
        gateway.spares.thin();
        for (_, door) in gateway.live().doors() {
            door.pool().sweep();
        }
    }
}
