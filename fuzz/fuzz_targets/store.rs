//! Any bytes as the files of a store: never a panic, never a wrong sum.
//! Run with `cargo +nightly fuzz run store`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shared::ledger::fuzz::store(bytes));
