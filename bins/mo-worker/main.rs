//! mo-worker.

fn main() {}
