//! Who works in a tree: the mo-spawn that holds its lock, a worker that outlived it, anybody who stands in it.

use std::fs;
use std::path::Path;

use shared::dispatches;
use shared::process;
use shared::world::World;

/// Somebody other than a holder of the tree's lock, in words; nothing where there is nobody.
pub fn find(world: &World, id: &str, tree: &Path) -> Option<String> {
    worker(world, id).or_else(|| visitor(tree))
}

/// Claude Code's process of the dispatch: it may live on when its mo-spawn was killed.
fn worker(world: &World, id: &str) -> Option<String> {
    let (_, record) = dispatches::find(&world.paths, id).ok()?;
    let pid = record.pid.filter(|_| record.ended_at.is_none())?;
    let lives = process::is(pid, record.start_time.as_deref());
    lives.then(|| format!("worker {} (process {pid}) works in it", record.worker))
}

/// A process whose working directory is in the tree. Linux alone tells it for nothing.
fn visitor(tree: &Path) -> Option<String> {
    let tree = tree.canonicalize().ok()?;
    let pids = fs::read_dir("/proc").ok()?.flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut inside = pids.filter(|pid| {
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|directory| directory.starts_with(&tree))
    });
    inside.next().map(|pid| format!("process {pid} works in it"))
}
