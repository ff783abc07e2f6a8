//! The MCP server: one thread that does everything but read and write, and ends what it started when its client has gone.

mod handler;
mod lines;
pub mod progress;

use std::sync::Arc;

use rmcp::service::serve_server;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::world::World;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::server::handler::Handler;
use crate::server::lines::Lines;
use crate::work::hub::Hub;
use crate::work::plan;

/// Serves until the client has gone: its input ends, or it sends a signal. Then every task of this session is ended,
/// and this waits for it; where the client does not let it, mo-spawn notices that its caller has gone.
pub fn run(world: World) -> Result<Exit> {
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| Error::new(Exit::Bug, "cannot start an event loop").because(&error))?;
    let hub = Arc::new(Hub::new(world)?);
    let ended = runtime.block_on(serve(hub));
    // The thread that reads may still wait for input that never comes.
    runtime.shutdown_background();
    ended
}

async fn serve(hub: Arc<Hub>) -> Result<Exit> {
    let failed = |error: std::io::Error| Error::new(Exit::Bug, "cannot serve").because(&error);
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    let (ended, deaf, closing) = (Arc::clone(&hub), Arc::new(Notify::new()), Arc::clone(&hub));
    let (gone, unheard) = (Arc::clone(&deaf), move || ended.close());
    let unread = move || {
        closing.close();
        gone.notify_one();
    };
    let lines = Lines::start(unheard, unread).map_err(failed)?;
    tokio::spawn(plan::run(Arc::clone(&hub)));
    let service = async {
        // A client that goes before it has said who it is has asked for nothing.
        if let Ok(service) = serve_server(Handler::new(Arc::clone(&hub)), lines).await {
            let _ = service.waiting().await;
        }
    };
    tokio::select! {
        () = service => {}
        () = deaf.notified() => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    hub.close();
    hub.all_ended().await;
    Ok(Exit::Done)
}
