//! A running gateway: what every connection shares.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use shared::clock::Clock;
use shared::error::Result;
use shared::world::World;

use crate::agents::register;
use crate::config::Config;
use crate::forward::spares::Spares;
use crate::live::Live;
use crate::observe::audit::journal::Keeping;
use crate::observe::cost::{AtLimit, Limit};
use crate::observe::observer::{Observer, Settings};
use crate::request_id::Ids;
use crate::restraint::Restraint;
use crate::route::Leg;
use crate::scan::Body;
use crate::stage::Life;
use crate::token::Token;
use crate::transform::minted::Minted;
use crate::transform::{self, Extras, Shaped};
use crate::upstream::anthropic::Anthropic;
use crate::upstream::dialer::Dialer;

/// A stand-in for Anthropic's API on this machine, for tests and benches.
const STAND_IN: &str = "MODEL_ORCHESTRATION_ANTHROPIC";

/// The gateway.
pub struct Gateway {
    /// Where it listens.
    pub address: String,
    /// The token that its own keys are behind.
    pub token: Token,
    /// Its stage, and what runs.
    pub life: Life,
    /// Makes request ids.
    pub ids: Ids,
    /// When it started.
    pub started: Instant,
    /// Where `claude-*` goes.
    pub anthropic: Anthropic,
    /// The time.
    pub clock: Clock,
    /// Who keeps the books.
    pub observer: Observer,
    /// What holds requests back.
    pub restraint: Restraint,
    /// Buffers for bodies.
    pub spares: Spares,
    dialer: Arc<Dialer>,
    live: RwLock<Arc<Live>>,
    minted: RwLock<Minted>,
}

/// What can be wrong before anything is listened on.
pub struct Prepared {
    /// The first configuration.
    pub live: Live,
    anthropic: Anthropic,
    dialer: Arc<Dialer>,
}

impl Prepared {
    /// Reads the configuration.
    pub fn new(world: &World) -> Result<Self> {
        let dialer = Arc::new(Dialer::new(&world.env));
        let anthropic = Anthropic::new(Arc::clone(&dialer), world.env.text(STAND_IN))?;
        Ok(Self { live: Live::load(world, &dialer, None)?, anthropic, dialer })
    }
}

impl Gateway {
    /// The gateway that listens at this address.
    pub fn new(world: &World, prepared: Prepared, address: String, token: Token) -> Result<Self> {
        Ok(Self {
            clock: world.clock,
            observer: Observer::start(world, &settings(world, &prepared.live.config)?)?,
            address,
            token,
            life: Life::default(),
            ids: Ids::default(),
            started: Instant::now(),
            anthropic: prepared.anthropic,
            dialer: prepared.dialer,
            spares: Spares::default(),
            restraint: Restraint::new(prepared.live.config.breaking),
            live: RwLock::new(Arc::new(prepared.live)),
            minted: RwLock::default(),
        })
    }

    /// The request as this place gets it.
    pub fn shape<'a>(&self, body: &'a Body<'a>, leg: &Leg, extras: Extras) -> Shaped<'a> {
        transform::shape(body, leg, &self.minted.read().unwrap_or_else(PoisonError::into_inner), extras)
    }

    /// This upstream wrote thinking with these signatures: nobody else can read it.
    pub fn note_thinking(&self, signatures: &[String], upstream: &str) {
        if !signatures.is_empty() {
            let mut minted = self.minted.write().unwrap_or_else(PoisonError::into_inner);
            for signature in signatures {
                minted.note(signature, upstream);
            }
        }
    }

    /// The configuration in force.
    pub fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the configuration anew. A bad one changes nothing.
    pub fn reload(&self, world: &World) -> Result<()> {
        let new = Live::load(world, &self.dialer, Some(&self.live()))?;
        self.observer.reload(world, limit(&new.config));
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        Ok(())
    }
}

/// How the books are kept.
fn settings(world: &World, config: &Config) -> Result<Settings> {
    let audit =
        config.auditing.on.then(|| world.paths.proxy().map(|folder| folder.join("audit"))).transpose()?;
    let days = u32::try_from(config.auditing.days).unwrap_or(u32::MAX);
    let keeping = Keeping { largest: config.auditing.size, days };
    Ok(Settings { audit, keeping, limit: limit(config), agents: register::path(&world.paths)? })
}

/// What a day may cost.
fn limit(config: &Config) -> Limit {
    let spending = config.spending;
    let then = if spending.is_some_and(|spending| spending.refuse) { AtLimit::Refuse } else { AtLimit::Tell };
    Limit { usd: spending.map(|spending| spending.usd), then }
}
