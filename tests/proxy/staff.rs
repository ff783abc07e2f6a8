//! Workers in a world, made as a user makes them.

use support::World;

/// Makes a worker at this URL, with this model and this key.
#[track_caller]
pub fn hire(world: &World, name: &str, url: &str, model: &str, key: &str) {
    let words = ["create", name, "--base-url", url, "--sonnet", model];
    world.command(env!("CARGO_BIN_EXE_mo-worker")).args(words).run().ok();
    world.command(env!("CARGO_BIN_EXE_mo-key")).arg(name).stdin(key).run().ok();
}
