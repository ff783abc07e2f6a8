//! mo-spawn.

fn main() {}
