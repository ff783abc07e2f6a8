//! mo-key.

fn main() {}
