//! The real Claude Code: which version the tests drive, and how it gets under `target/`.
//!
//! The version stands in `tests/claude-version` and nowhere else; `MO_COMPAT_CLAUDE` overrides it. It is installed
//! by npm once, however many test programs ask at the same time. Where npm cannot be had, the test that needs the
//! client fails and says so.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::outside;
use crate::provider::Provider;
use crate::run::Run;
use crate::world::World;

/// The npm package.
const PACKAGE: &str = "@anthropic-ai/claude-code";

/// The version under test.
#[track_caller]
pub fn version() -> String {
    if let Some(version) = outside::variable("MO_COMPAT_CLAUDE") {
        return version.into_string().expect("MO_COMPAT_CLAUDE is a version");
    }
    let file = outside::repository().join("tests/claude-version");
    let text =
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
    text.trim().to_owned()
}

/// The program of the version under test.
#[track_caller]
pub fn pinned() -> PathBuf {
    claude(&version())
}

/// The program of a version, installed now if it was not.
#[track_caller]
pub fn claude(version: &str) -> PathBuf {
    let plain = version.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-".contains(letter));
    assert!(plain && version.starts_with(|letter: char| letter.is_ascii_digit()), "no version: {version:?}");
    let shelves = [outside::target().join("claude"), outside::repository().join("target/claude")];
    let found = shelves.iter().map(|shelf| program(&shelf.join(version))).find(|path| path.exists());
    found.unwrap_or_else(|| install(&shelves[0], version))
}

/// A run of the version under test in this world against this provider, ready for `-p` and a prompt.
#[track_caller]
pub fn against(world: &World, provider: &Provider, key: &str) -> Run {
    world
        .command(pinned())
        .var("ANTHROPIC_BASE_URL", provider.url())
        .var("ANTHROPIC_AUTH_TOKEN", key)
        .var("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .var("CLAUDE_CODE_MAX_RETRIES", "0")
        .var("DISABLE_AUTOUPDATER", "1")
        // Root may bypass permissions only where the client believes itself in a sandbox.
        .var("IS_SANDBOX", "1")
}

fn program(folder: &Path) -> PathBuf {
    folder.join("node_modules/.bin/claude")
}

#[track_caller]
fn install(shelf: &Path, version: &str) -> PathBuf {
    fs::create_dir_all(shelf).unwrap_or_else(|error| panic!("cannot make {}: {error}", shelf.display()));
    let lock = File::create(shelf.join(format!(".{version}.lock"))).expect("a lock file beside it");
    lock.lock().expect("its lock");
    let folder = shelf.join(version);
    if program(&folder).exists() {
        return program(&folder);
    }
    // Made aside and renamed: a broken installation never looks like a whole one.
    let making = shelf.join(format!(".{version}.making"));
    let _ = fs::remove_dir_all(&making);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&making).expect("a folder under target/");
    let output = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--no-update-notifier", "--prefix"])
        .arg(&making)
        .arg(format!("{PACKAGE}@{version}"))
        .current_dir(&making)
        .output();
    let because = match output {
        Ok(output) if output.status.success() && program(&making).exists() => {
            // Current npm runs no install scripts by itself, and this one puts the program in its place.
            let script = making.join("node_modules").join(PACKAGE).join("install.cjs");
            if script.exists() {
                let _ = Command::new("node").arg(&script).current_dir(&making).status();
            }
            fs::rename(&making, &folder).expect("a rename under target/");
            return program(&folder);
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("cannot start npm: {error}"),
    };
    let _ = fs::remove_dir_all(&making);
    panic!(
        "the tests drive the real Claude Code {version}, which is not in {} and npm did not get it: {because}\n\
         install npm, or put the package there: npm install --prefix {} {PACKAGE}@{version}",
        folder.display(),
        folder.display()
    );
}
