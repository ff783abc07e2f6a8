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

mod wire {
    #[path = "../../../bins/mo-proxy/wire/chunk.rs"]
    pub mod chunk;
    #[path = "../../../bins/mo-proxy/wire/field.rs"]
    pub mod field;
    #[path = "../../../bins/mo-proxy/wire/framing.rs"]
    pub mod framing;
    #[path = "../../../bins/mo-proxy/wire/fuzz.rs"]
    pub mod fuzz;
    #[path = "../../../bins/mo-proxy/wire/head.rs"]
    pub mod head;
    #[path = "../../../bins/mo-proxy/wire/span.rs"]
    pub mod span;
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::check(bytes));
