//! Does nothing: what the benches hold the start of our programs against, built with their profile and linkage.

fn main() {}
