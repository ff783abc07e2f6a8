//! A gateway that runs in a sealed world.

use std::path::Path;

use support::{Running, World, wait_for};

use crate::client::{Answer, Client, request};
use crate::staff::hire;
use crate::upstream::Upstream;

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_mo-proxy");

/// The key of the workers that a gateway is between.
pub const KEY: &str = "0123456789abcdef.half_XYZW";

/// A running gateway.
pub struct Gateway {
    /// Its world.
    pub world: World,
    /// Its process.
    pub process: Running,
    /// Where it listens.
    pub address: String,
    /// Its token.
    pub token: String,
}

impl Gateway {
    /// A gateway in front of this stand-in for Anthropic.
    pub fn before(upstream: &Upstream) -> Self {
        let mut world = World::new();
        world.var("MODEL_ORCHESTRATION_ANTHROPIC", upstream.url());
        Self::start(world)
    }

    /// A gateway between a stand-in for Anthropic and workers at these upstreams, each with a model of its name.
    pub fn between(anthropic: &Upstream, workers: &[(&str, &Upstream)], config: &str) -> Self {
        let mut world = World::new();
        world.var("MODEL_ORCHESTRATION_ANTHROPIC", anthropic.url());
        for (name, upstream) in workers {
            hire(&world, name, &upstream.url(), &format!("{name}-model"), KEY);
        }
        world.write(".claude-workers/.proxy/config.json", config);
        Self::start(world)
    }

    /// A gateway in this world.
    pub fn start(world: World) -> Self {
        let process = world.command(PROGRAM).args(["serve", "--port", "0"]).spawn();
        let file = world.root().join(".proxy/instance.json");
        let address = wait_for("the gateway to announce itself", || address_in(&file));
        let token = world.read(".claude-workers/.proxy/token");
        Self { world, process, address, token }
    }

    /// A connection to it.
    pub fn client(&self) -> Client {
        Client::connect(&self.address)
    }

    /// One request on a connection of its own.
    #[track_caller]
    pub fn ask(&self, bytes: &[u8]) -> Answer {
        self.client().ask(bytes)
    }

    /// One GET.
    #[track_caller]
    pub fn get(&self, target: &str) -> Answer {
        self.ask(&request("GET", target, "", ""))
    }
}

fn address_in(file: &Path) -> Option<String> {
    let text = std::fs::read(file).ok()?;
    let json: serde_json::Value = serde_json::from_slice(&text).ok()?;
    json["address"].as_str().map(str::to_owned)
}
