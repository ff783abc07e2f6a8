//! What the Claude Code under test can do: found by trying and looking, never by its version.
//!
//! A test whose assertion needs an ability asks for it here. Where it lacks, that is told in one line, which
//! `make compat` collects, and only that assertion is left out. The pinned version lacks nothing.

use std::io::Write;

use support::claude;

use crate::stage::Stage;

/// The flag with which a session prints what its hooks did.
pub(crate) const HOOK_EVENTS: &str = "--include-hook-events";

/// Tells a lack. On the pinned version it is a failure.
#[track_caller]
pub(crate) fn lacks(what: &str) {
    let version = claude::version();
    assert!(
        version != include_str!("../claude-version").trim(),
        "the pinned version lacks an ability: {what}"
    );
    // Past the harness, which keeps what a passing test prints to itself.
    let told = writeln!(std::io::stdout(), "\ncompat: {what}");
    told.expect("standard output takes a line");
}

/// Whether the condition holds; tells the lack where it does not.
#[track_caller]
pub(crate) fn can(condition: bool, lack: &str) -> bool {
    if !condition {
        lacks(lack);
    }
    condition
}

/// Whether the help of a sub-command, or of Claude Code itself, has this flag or word; tells the lack where it does not.
#[track_caller]
pub(crate) fn has_flag(stage: &Stage, command: &[&str], flag: &str) -> bool {
    let help = stage.claude().args(command.iter().copied()).arg("--help").run();
    can(
        help.text().contains(flag),
        &format!("no {} {flag}", ["claude"].iter().chain(command).copied().collect::<Vec<_>>().join(" ")),
    )
}
