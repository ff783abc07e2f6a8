//! A worker's work, committed: all that git sees, and nothing that was only brought along.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use shared::error::{Error, Result};
use shared::exit::Exit;

use super::git::Git;
use super::message::Message;
use super::status::Status;

/// Who commits where the user has told git no name.
const NOBODY: [&str; 4] = ["-c", "user.name=mo-spawn", "-c", "user.email=mo-spawn@localhost"];

/// Commits all of this status but `left_out`, wherever HEAD stands. Returns what could not be taken.
pub fn all(git: &Git, status: &Status, left_out: &[PathBuf], message: &Message) -> Result<Vec<String>> {
    if let Some(entry) = status.entries.iter().find(|entry| entry.is_undecided()) {
        return Err(Error::new(Exit::CouldNot, "a merge was left undecided, so nothing is committed:")
            .at(&entry.path)
            .hint("finish or abort the merge in the worktree"));
    }
    let mut notes = Vec::new();
    let mut unstaged = Vec::new();
    for entry in status.without(left_out).filter(|entry| entry.is_unstaged()) {
        if entry.is_foreign_repository() {
            notes.push(format!("{} is a repository of its own and is not committed", entry.path.display()));
        } else {
            unstaged.extend_from_slice(entry.path.as_os_str().as_bytes());
            unstaged.push(0);
        }
    }
    if !unstaged.is_empty() {
        let words = ["add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"];
        let answer = git.feed(&words, &unstaged)?;
        if !answer.is_yes() {
            return Err(git.failed(&words, &answer));
        }
    }
    let staged = ["diff", "--cached", "--quiet", "--no-ext-diff", "HEAD"];
    let answer = git.ask(&staged)?;
    let merges = git.ask(&["rev-parse", "--verify", "--quiet", "MERGE_HEAD"])?.is_yes();
    match answer.code() {
        Some(0) if !merges => {}
        Some(0 | 1) => {
            let words =
                [&identity(git)?[..], &["commit", "--quiet", "--cleanup=whitespace", "--file=-"]].concat();
            let answer = git.feed(&words, message.text().as_bytes())?;
            if !answer.is_yes() {
                return Err(git.failed(&words, &answer));
            }
        }
        _ => return Err(git.failed(&staged, &answer)),
    }
    Ok(notes)
}

/// Nothing where the user has a name and an address.
fn identity(git: &Git) -> Result<Vec<&'static str>> {
    for setting in ["user.name", "user.email"] {
        if git.ask(&["config", setting])?.text().is_empty() {
            return Ok(NOBODY.to_vec());
        }
    }
    Ok(Vec::new())
}
