//! `.mo-include`: files that git does not know but work needs, such as `.env`, brought along into a new tree.
//! Lines as in .gitignore. Only what lies in the repository, no symlink, no `..`, and not without measure.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use shared::document::broken;
use shared::error::{Error, Result};
use shared::file;

use super::card::Included;
use super::git::{self, Git};
use super::repository::fingerprint;

/// The file that lists them, at the top of the repository.
pub const LIST: &str = ".mo-include";
/// The most that is brought along: these are settings, not data.
const MOST: u64 = 64 << 20;
/// The most of the list itself.
const LIST_CAP: u64 = 1 << 20;

/// What was brought, and what was not and why.
#[derive(Debug, Default)]
pub struct Brought {
    /// The files.
    pub files: Vec<Included>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Copies what the list names from one tree into the other. `git` stands at the top of the first.
pub fn bring(git: &Git, from: &Path, to: &Path) -> Result<Brought> {
    let list = from.join(LIST);
    let mut brought = Brought::default();
    let Some(text) = file::read_if_there(&list, LIST_CAP)? else { return Ok(brought) };
    refuse_above(&list, &String::from_utf8_lossy(&text))?;
    let listed =
        git.bytes(&["ls-files", "-z", "--others", "--ignored", &format!("--exclude-from={LIST}")])?;
    let (mut taken, mut too_much, mut odd) = (0, Vec::new(), Vec::new());
    for entry in git::entries(&listed) {
        let path = Path::new(std::ffi::OsStr::from_bytes(entry));
        // A card is JSON: a name that is no text cannot stand on it.
        let plain = path.to_str().filter(|name| !name.ends_with('/') && is_inside(path));
        let Some(file) = plain.and_then(|_| open(from, path)) else {
            odd.push(path);
            continue;
        };
        let length = file.metadata().map_or(u64::MAX, |meta| meta.len());
        if length > MOST - taken {
            too_much.push(path);
            continue;
        }
        taken += length;
        brought.files.extend(copy(file, length, to, path)?);
    }
    tell(&mut brought.notes, &too_much, &format!("more than {} MiB", MOST >> 20));
    tell(&mut brought.notes, &odd, "no plain files of this repository");
    Ok(brought)
}

/// The files that are still as they were brought, and those that somebody changed since.
pub fn compare(tree: &Path, included: &[Included]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let there = included.iter().filter(|one| fs::symlink_metadata(tree.join(&one.path)).is_ok());
    let (same, changed): (Vec<_>, Vec<_>) = there.partition(|one| {
        let bytes = open(tree, &one.path).and_then(|file| {
            let mut bytes = Vec::new();
            file.take(MOST + 1).read_to_end(&mut bytes).ok().map(|_| bytes)
        });
        bytes.is_some_and(|bytes| fingerprint(&bytes) == one.fingerprint)
    });
    let paths = |list: Vec<&Included>| list.into_iter().map(|one| one.path.clone()).collect();
    (paths(same), paths(changed))
}

fn tell(notes: &mut Vec<String>, paths: &[&Path], why: &str) {
    if let Some(first) = paths.first() {
        let more = if paths.len() > 1 { format!(" and {} more", paths.len() - 1) } else { String::new() };
        notes.push(format!("{LIST}: {}{more} left out: {why}", first.display()));
    }
}

fn refuse_above(list: &Path, text: &str) -> Result<()> {
    let patterns = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    let mut bad = patterns.filter(|(_, line)| line.trim().split('/').any(|part| part == ".."));
    bad.next().map_or(Ok(()), |(at, _)| {
        Err(broken(list, at + 1, "a pattern must not lead out of the repository (`..`)"))
    })
}

fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Opens a regular file below the top, through no symlink on the way.
fn open(top: &Path, path: &Path) -> Option<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(flags.bits().cast_signed());
    let file = has_no_link(top, path).then(|| options.open(top.join(path)).ok()).flatten()?;
    file.metadata().is_ok_and(|meta| meta.is_file()).then_some(file)
}

/// Whether nothing on the way is a symlink, as far as it is there.
fn has_no_link(top: &Path, path: &Path) -> bool {
    let parts = path.ancestors().filter(|part| !part.as_os_str().is_empty());
    parts.into_iter().all(|part| fs::symlink_metadata(top.join(part)).map_or(true, |meta| !meta.is_symlink()))
}

/// Copies it, mode and all; nothing where the tree has such a file already.
fn copy(from: File, length: u64, tree: &Path, path: &Path) -> Result<Option<Included>> {
    let target = tree.join(path);
    let failed = |error: std::io::Error| Error::io("cannot bring along", &target, &error);
    // The tree may be of another commit, where a folder on the way is a symlink to elsewhere.
    if !has_no_link(tree, path) || fs::symlink_metadata(&target).is_ok() {
        return Ok(None);
    }
    fs::create_dir_all(target.parent().unwrap_or(tree)).map_err(failed)?;
    let mode = from.metadata().map_err(failed)?.permissions().mode() & 0o777;
    let mut bytes = Vec::with_capacity(length as usize);
    from.take(length).read_to_end(&mut bytes).map_err(failed)?;
    let mut options = OpenOptions::new();
    let mut written = options.write(true).create_new(true).mode(mode).open(&target).map_err(failed)?;
    written.write_all(&bytes).map_err(failed)?;
    written.set_permissions(fs::Permissions::from_mode(mode)).map_err(failed)?;
    Ok(Some(Included { path: path.to_owned(), fingerprint: fingerprint(&bytes) }))
}
