//! A running gateway: what every connection shares.

use std::sync::Arc;
use std::time::Instant;

use shared::error::Result;
use shared::world::World;

use crate::request_id::Ids;
use crate::stage::Life;
use crate::token::Token;
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
}

impl Gateway {
    /// The gateway that listens at this address.
    pub fn new(world: &World, address: String, token: Token) -> Result<Self> {
        let dialer = Arc::new(Dialer::new(&world.env));
        Ok(Self {
            address,
            token,
            life: Life::default(),
            ids: Ids::default(),
            started: Instant::now(),
            anthropic: Anthropic::new(dialer, world.env.text(STAND_IN))?,
        })
    }
}
