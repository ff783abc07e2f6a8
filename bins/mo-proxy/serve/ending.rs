//! How the gateway ends: readiness goes, streams finish, a second signal or the end of patience cuts them.

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::world::World;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use crate::gateway::Gateway;
use crate::stage::Stage;

/// The signals that end it.
#[derive(Debug)]
pub struct Ending {
    terminate: Signal,
    interrupt: Signal,
}

impl Ending {
    /// From now on these signals are ours.
    pub fn new() -> Result<Self> {
        let listen = |kind| {
            signal(kind).map_err(|error| Error::new(Exit::Io, "cannot listen to signals").because(&error))
        };
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Returns when it is time to end.
    pub async fn wait(&mut self, world: &World, gateway: &Gateway) {
        self.signal().await;
        gateway.life.enter(Stage::Draining);
        let patience = gateway.live().config.timeouts.drain;
        let running = gateway.life.running();
        if running > 0 {
            world.say.note(&format!("finishing {running} requests, at most {} s", patience.as_secs()));
        }
        tokio::select! {
            () = gateway.life.idle() => {}
            () = self.signal() => world.say.note("ending at once"),
            () = sleep(patience) => world.say.note("out of patience: ending what still runs"),
        }
    }

    async fn signal(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
