//! Any bytes as a request's body: never a panic, and the scan and serde_json agree.
//! Run with `cargo +nightly fuzz run scan`.
#![no_main]
#![expect(dead_code, reason = "the program's rooms are taken as they are")]

#[path = "../../bins/mo-proxy/scan/mod.rs"]
mod scan;
#[path = "../../bins/mo-proxy/scan/fuzz.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));
