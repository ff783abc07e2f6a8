//! Any bytes as a request's head: never a panic, and one meaning or none.
//! Run with `cargo +nightly fuzz run head`.
#![no_main]
#![expect(dead_code, reason = "the program's rooms are taken as they are")]

/// In the place of the room that holds the only seal: here nobody opens a credential.
mod upstream {
    pub mod anthropic {
        pub struct Seal(());
    }
}

#[path = "../../bins/mo-proxy/wire/chunk.rs"]
mod chunk;
#[path = "../../bins/mo-proxy/wire/field.rs"]
mod field;
#[path = "../../bins/mo-proxy/wire/framing.rs"]
mod framing;
#[path = "../../bins/mo-proxy/wire/fuzz.rs"]
mod checks;
#[path = "../../bins/mo-proxy/wire/head.rs"]
mod head;
#[path = "../../bins/mo-proxy/wire/span.rs"]
mod span;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));
