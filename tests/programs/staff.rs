//! Worlds with workers in them, and the programs that change them.

use std::path::Path;

use serde_json::Value;
use support::{Run, World};

use crate::tree::Tree;

/// A key of the shape that providers give.
pub const KEY: &str = "0123456789abcdef.Secret-half_XYZW";

/// A run of mo-worker.
pub fn mo_worker(world: &World, words: &[&str]) -> Run {
    world.command(env!("CARGO_BIN_EXE_mo-worker")).args(words.iter().copied())
}

/// A run of mo-key that pipes this in.
pub fn mo_key(world: &World, words: &[&str], piped: impl AsRef<[u8]>) -> Run {
    world.command(env!("CARGO_BIN_EXE_mo-key")).args(words.iter().copied()).stdin(piped)
}

/// A world with these workers, without keys.
pub fn with_workers(names: &[&str]) -> World {
    let world = World::new();
    for name in names {
        create(&world, name);
    }
    world
}

/// Makes a worker.
#[track_caller]
pub fn create(world: &World, name: &str) {
    mo_worker(world, &["create", name, "--preset", "zai"]).run().ok();
}

/// Makes a worker at this endpoint.
#[track_caller]
pub fn create_at(world: &World, name: &str, url: &str) {
    mo_worker(world, &["create", name, "--base-url", url, "--sonnet", "test-model"]).run().ok();
}

/// A worker's file, below the home directory.
pub fn file(name: &str, file: &str) -> String {
    format!(".claude-workers/{name}/{file}")
}

/// Words that run a program whose modes of files count, as they do for everybody but root.
pub fn unprivileged(world: &World, program: impl AsRef<Path>) -> Run {
    let program = program.as_ref();
    if !rustix::process::geteuid().is_root() {
        return world.command(program);
    }
    world
        .command("/usr/bin/env")
        .args(["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"])
        .arg(program)
}

/// The workers and their states, as the list has them.
pub fn listed(world: &World) -> Vec<(String, String)> {
    let list: Value = mo_worker(world, &["list", "--json"]).run().ok().json();
    let workers = list.get("workers").and_then(Value::as_array).unwrap();
    let text = |worker: &Value, field| worker.get(field).and_then(Value::as_str).unwrap().to_owned();
    workers.iter().map(|worker| (text(worker, "name"), text(worker, "state"))).collect()
}

/// Refused with this code and these words, nothing changes, and the key is not shown.
#[track_caller]
pub fn refused(world: &World, run: Run, code: i32, told: &str) {
    let before = Tree::of(world.home());
    run.run().code(code).stdout_is("").stderr_has(told).stderr_lacks(KEY);
    before.is_still(world.home());
}
