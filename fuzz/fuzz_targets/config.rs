//! Any bytes as a configuration: never a panic, and every mistake has its line.
//! Run with `cargo +nightly fuzz run config`.
#![no_main]
#![expect(dead_code, unused_imports, reason = "the program's rooms are taken as they are")]

#[path = "../../bins/mo-proxy/config/mod.rs"]
mod config;
#[path = "../../bins/mo-proxy/config/fuzz.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));
