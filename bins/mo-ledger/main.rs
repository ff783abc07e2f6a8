//! mo-ledger.

fn main() {}
