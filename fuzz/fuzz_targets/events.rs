//! Any bytes as an answer, plain or packed: never a panic, and the same is seen however it is cut.
//! Run with `cargo +nightly fuzz run events`.
#![no_main]
#![expect(unused_imports, reason = "the program's rooms are taken as they are")]

#[path = "../../bins/mo-proxy/observe/reader/mod.rs"]
mod reader;
#[path = "../../bins/mo-proxy/observe/reader/fuzz.rs"]
mod checks;

use reader::{Reader, Seen};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));
