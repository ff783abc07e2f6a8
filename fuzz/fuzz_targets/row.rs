//! Any bytes as a transcript: never a panic, and the quick and the streaming reader agree.
//! Run with `cargo +nightly fuzz run row`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| shared::ledger::fuzz::row(bytes));
