//! The few facts taken from the real environment: everything else a test sees is made by `World`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A variable of the process that runs the tests.
#[expect(clippy::disallowed_methods, reason = "the test library has no World of its own to read it from")]
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The checkout the tests belong to.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("tests/support is two levels deep").into()
}

/// Where build products go.
pub(crate) fn target() -> PathBuf {
    match variable("CARGO_TARGET_DIR") {
        Some(dir) => repository().join(dir),
        None => repository().join("target"),
    }
}

/// Whether file modes mean nothing to us and mounts are allowed.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
