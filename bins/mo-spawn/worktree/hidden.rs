//! What `git status` does not tell of a tree, and what would yet be lost with it: changed files that git was told not
//! to look at, and repositories in folders that it does not go into.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use shared::error::Result;

use super::git::{self, Git};
use crate::sandbox::planted;

/// How many files are hashed by one git.
const AT_ONCE: usize = 200;
/// What lies together in the top of a repository without a tree.
const BARE: [&str; 3] = ["HEAD", "objects", "refs"];

/// A file of the index that git does not look at.
struct Unseen<'a> {
    mode: &'a [u8],
    hash: &'a [u8],
    path: &'a Path,
}

impl<'a> Unseen<'a> {
    /// The one in this line of `git ls-files -v --stage`: the tag is in lower case where a file is assumed to be
    /// unchanged, and `S` where it is left out of the tree.
    fn of(line: &'a [u8]) -> Option<Self> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let (facts, path) = line.split_at_checked(tab)?;
        let mut facts = facts.split(|byte| *byte == b' ');
        let is_unseen = |tag: &&[u8]| *tag == b"S" || tag.iter().all(u8::is_ascii_lowercase);
        facts.next().filter(is_unseen)?;
        let path = Path::new(OsStr::from_bytes(path.get(1..)?));
        Some(Self { mode: facts.next()?, hash: facts.next()?, path })
    }
}

/// A file that git was told not to look at, and that was changed. One that is not there is no loss.
pub fn changed(git: &Git) -> Result<Option<PathBuf>> {
    let index = git.bytes(&["ls-files", "-v", "--stage", "-z"])?;
    let mut plain = Vec::new();
    for file in git::entries(&index).filter_map(Unseen::of) {
        let same = match fs::symlink_metadata(git.directory().join(file.path)) {
            Ok(meta) if meta.is_file() && has_mode(&meta, file.mode) => {
                plain.push(file);
                continue;
            }
            Ok(meta) if meta.is_symlink() && file.mode == b"120000" => leads_there(git, &file)?,
            // A submodule is looked at as such.
            Ok(_) => file.mode == b"160000",
            Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        };
        if !same {
            return Ok(Some(file.path.to_owned()));
        }
    }
    for some in plain.chunks(AT_ONCE) {
        let words = ["hash-object", "--"].map(OsStr::new).into_iter();
        let words: Vec<_> = words.chain(some.iter().map(|file| file.path.as_os_str())).collect();
        // Where one cannot be read there is no line for it.
        let hashes = git.ask(&words)?.stdout;
        let mut hashes = hashes.split(|byte| *byte == b'\n');
        if let Some(file) = some.iter().find(|file| hashes.next() != Some(file.hash)) {
            return Ok(Some(file.path.to_owned()));
        }
    }
    Ok(None)
}

fn has_mode(meta: &Metadata, mode: &[u8]) -> bool {
    match mode {
        b"100644" => meta.permissions().mode() & 0o100 == 0,
        b"100755" => meta.permissions().mode() & 0o100 != 0,
        // Where there are no symlinks, git writes one as a file.
        _ => mode == b"120000",
    }
}

fn leads_there(git: &Git, link: &Unseen) -> Result<bool> {
    let Ok(target) = fs::read_link(git.directory().join(link.path)) else { return Ok(false) };
    let answer = git.feed(&["hash-object", "--stdin"], target.as_os_str().as_bytes())?;
    Ok(answer.text().as_bytes() == link.hash)
}

/// Why this folder must stay for the sake of a repository in it. Those in `known` are looked at elsewhere; at the
/// top a file `.git` is git's own. Names are all that is looked at: ignored folders are large.
pub fn repository(git: &Git, top: &Path, known: &[PathBuf]) -> Result<Option<String>> {
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        let shown = folder.strip_prefix(git.directory()).unwrap_or(&folder).join("").display().to_string();
        let found = match search(&folder, folder == top) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Ok(Some(format!("cannot look into {shown}: {error}"))),
        };
        if found.repository || (found.bare && !is_tracked(git, &folder.join("HEAD"))?) {
            return Ok(Some(format!("{shown} holds a repository of its own")));
        }
        open.extend(found.folders.into_iter().filter(|path| !known.contains(path)));
    }
    Ok(None)
}

/// What is in a folder.
#[derive(Default)]
struct Found {
    repository: bool,
    bare: bool,
    folders: Vec<PathBuf>,
}

fn search(folder: &Path, is_top: bool) -> io::Result<Found> {
    let (mut found, mut marks) = (Found::default(), 0);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        // Git never goes into what is called so, whatever it is; one that was moved aside holds its commits yet.
        found.repository |= planted::is_repository(&name) && !(is_top && kind.is_file());
        marks += usize::from(BARE.iter().any(|mark| name == *mark));
        if kind.is_dir() {
            found.folders.push(entry.path());
        }
    }
    found.bare = marks == BARE.len();
    Ok(found)
}

/// Whether git knows this file: a repository that is kept as files, for tests, is in the commits.
fn is_tracked(git: &Git, path: &Path) -> Result<bool> {
    let words = ["ls-files", "--error-unmatch", "--"].map(OsStr::new);
    Ok(git.ask(&words.into_iter().chain([path.as_os_str()]).collect::<Vec<_>>())?.is_yes())
}
