//! mo-preset.

fn main() {}
