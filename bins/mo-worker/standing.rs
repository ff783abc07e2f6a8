//! How the workers stand, accounts included: of those Claude Code itself is asked, all at once.

use std::thread;

use shared::accounts;
use shared::login::{self, Login};
use shared::worker::Worker;
use shared::world::World;

use crate::shown;

/// What is known of a worker beyond its own files.
#[derive(Debug)]
pub enum Standing {
    /// A provider's: its files say all.
    Provider,
    /// An account that may not be used while several are off.
    Off,
    /// An account, and what Claude Code says of its login.
    Account(Login),
    /// An account of which Claude Code does not say.
    Unclear,
}

impl Standing {
    /// Looks at one worker.
    pub fn of(world: &World, worker: &Worker) -> Self {
        if !worker.is_account() {
            return Self::Provider;
        }
        if !accounts::is_allowed(&world.paths, worker).unwrap_or(false) {
            return Self::Off;
        }
        login::ask(world, worker).map_or(Self::Unclear, Self::Account)
    }

    /// Looks at several at once: each takes Claude Code a moment.
    pub fn of_all(world: &World, workers: &[Option<&Worker>]) -> Vec<Self> {
        thread::scope(|scope| {
            let asked: Vec<_> = workers
                .iter()
                .map(|worker| worker.map(|worker| scope.spawn(|| Self::of(world, worker))))
                .collect();
            let told = asked.into_iter().map(|one| match one {
                Some(one) => one.join().unwrap_or(Self::Unclear),
                None => Self::Provider,
            });
            told.collect()
        })
    }

    /// In a few words.
    pub fn text(&self, worker: &Worker) -> String {
        match self {
            Self::Off => "off".to_owned(),
            Self::Account(login) if !login.is_in => "logged out".to_owned(),
            Self::Unclear => "login unknown".to_owned(),
            Self::Provider | Self::Account(_) => shown::state(&worker.state()),
        }
    }

    /// In one word, for scripts.
    pub fn word(&self, worker: &Worker) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Account(login) if !login.is_in => "logged-out",
            Self::Unclear => "login-unknown",
            Self::Provider | Self::Account(_) => shown::state_word(&worker.state()),
        }
    }
}
