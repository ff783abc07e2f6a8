//! The user's wish to end, noticed instead of died from: what was started is ended first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use shared::error::{Error, Result};
use shared::exit::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

/// Whether a signal asked us to end.
#[derive(Debug)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Watches from now on, to the end of the process.
    pub fn watch() -> Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            flag::register(signal, Arc::clone(&asked))
                .map_err(|error| Error::new(Exit::Bug, "cannot watch signals").because(&error))?;
        }
        Ok(Self(asked))
    }

    /// Refuses to go on after such a signal.
    pub fn refuse(&self) -> Result<()> {
        if self.0.load(Ordering::SeqCst) {
            return Err(Error::new(Exit::Cancelled, "cancelled: nothing was stored"));
        }
        Ok(())
    }
}
