//! mo-hook.

fn main() {}
