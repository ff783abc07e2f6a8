//! A worker for tests of other things: made by the programs themselves.

use support::World;

/// Its key.
pub const KEY: &str = "key-of-no-account-0123";

/// Makes a worker with one model, `model-s` for the tier sonnet, and gives it a key or none.
pub fn make(world: &World, name: &str, with_key: bool) {
    let create = world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["create", name]);
    create.args(["--base-url", "http://127.0.0.1:9", "--sonnet", "model-s"]).run().ok();
    if with_key {
        world.command(env!("CARGO_BIN_EXE_mo-key")).arg(name).stdin(KEY).run().ok();
    }
}
