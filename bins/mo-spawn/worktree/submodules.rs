//! Submodules of a tree of ours: taken from what the repository has on this machine, never from the network, and
//! brought back there, so that no commit of theirs is only in a tree that goes.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use shared::error::{Error, Result};
use shared::exit::Exit;

use super::card::Card;
use super::commit;
use super::git::{self, Git};
use super::hidden;
use super::message::Message;
use super::status::Status;

/// A submodule that a commit names.
#[derive(Debug)]
struct Submodule {
    name: String,
    path: PathBuf,
    commit: String,
}

/// Where this repository has submodules on this machine.
#[derive(Clone, Debug)]
pub struct Homes {
    git_dir: PathBuf,
    beside: Option<PathBuf>,
}

impl Homes {
    /// Those of the repository that the tree of this card belongs to.
    pub fn of(card: &Card) -> Self {
        Self { git_dir: card.common_dir.clone(), beside: card.repo.clone() }
    }

    /// This one's home: in the repository's git directory, or as a folder of its tree as old ones are.
    fn home(&self, submodule: &Submodule) -> Option<PathBuf> {
        let absorbed = Some(self.git_dir.join("modules").join(&submodule.name));
        let beside = self.beside.as_ref().map(|tree| tree.join(&submodule.path).join(".git"));
        [absorbed, beside].into_iter().flatten().find(|home| home.join("HEAD").is_file())
    }

    /// Those of the submodule itself.
    fn inner(&self, submodule: &Submodule, home: &Path) -> Self {
        let beside = self.beside.as_ref().map(|tree| tree.join(&submodule.path));
        Self { git_dir: home.to_owned(), beside }
    }
}

/// The submodules in the index of the tree where `git` stands.
fn listed(git: &Git) -> Result<Vec<Submodule>> {
    let index = git.bytes(&["ls-files", "-z", "--stage"])?;
    let links: Vec<(String, PathBuf)> = git::entries(&index)
        .filter_map(|entry| {
            let text = entry.strip_prefix(b"160000 ")?;
            let tab = text.iter().position(|byte| *byte == b'\t')?;
            let (facts, path) = text.split_at_checked(tab)?;
            let commit = std::str::from_utf8(facts).ok()?.split(' ').next()?.to_owned();
            Some((commit, Path::new(OsStr::from_bytes(path.get(1..)?)).to_owned()))
        })
        .collect();
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let words = ["config", "-z", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"];
    let named = git.ask(&words)?.stdout;
    let paths: Vec<(String, PathBuf)> = git::entries(&named)
        .filter_map(|entry| {
            let line = entry.iter().position(|byte| *byte == b'\n')?;
            let (key, path) = entry.split_at_checked(line)?;
            let name = std::str::from_utf8(key).ok()?.strip_prefix("submodule.")?.strip_suffix(".path")?;
            Some((name.to_owned(), Path::new(OsStr::from_bytes(path.get(1..)?)).to_owned()))
        })
        .collect();
    let found = links.into_iter().filter_map(|(commit, path)| {
        let (name, _) = paths.iter().find(|(_, at)| *at == path)?;
        Some(Submodule { name: name.clone(), path, commit })
    });
    // A name becomes a part of a path and of a setting.
    let is_below = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
    let is_sound = |one: &Submodule| {
        !one.name.is_empty()
            && !one.name.contains('=')
            && is_below(Path::new(&one.name))
            && is_below(&one.path)
    };
    Ok(found.filter(is_sound).collect())
}

/// Fills the submodules of a new tree. Returns what the user should know.
pub fn fill(git: &Git, tree: &Path, homes: &Homes) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    let at_top = git.at(tree);
    for submodule in listed(&at_top)? {
        let shown = submodule.path.display();
        let Some(home) = homes.home(&submodule) else {
            notes.push(format!("submodule {shown} is left out: this repository has no copy of it"));
            continue;
        };
        let at_home = git.without_tree(&home, &home);
        if !at_home.ask(&["cat-file", "-e", &submodule.commit])?.is_yes() {
            notes.push(format!("submodule {shown} is left out: its commit is not on this machine"));
            continue;
        }
        let setting = |name, value: &str| format!("submodule.{}.{name}={value}", submodule.name);
        let (url, active) = (setting("url", &home.to_string_lossy()), setting("active", "true"));
        let words = ["-c", &url, "-c", &active, "submodule", "--quiet"];
        let words = words.iter().chain(&["update", "--"]).map(OsStr::new);
        at_top.run(&words.chain([submodule.path.as_os_str()]).collect::<Vec<_>>())?;
        let inner = tree.join(&submodule.path);
        // Its home is only where it was taken from: what it pulls and pushes goes where the home's own goes.
        let origin = at_home.ask(&["config", "remote.origin.url"])?;
        if origin.is_yes() {
            git.at(&inner).run(&["config", "remote.origin.url", &origin.text()])?;
        }
        notes.extend(fill(git, &inner, &homes.inner(&submodule, &home))?);
    }
    Ok(notes)
}

/// A submodule of a tree of ours that is filled, with git in it.
struct Filled {
    submodule: Submodule,
    git: Git,
    git_dir: PathBuf,
}

fn filled(git: &Git, tree: &Path, git_dir: &Path) -> Result<Vec<Filled>> {
    let listed = listed(git)?.into_iter().map(|submodule| {
        let own = git_dir.join("modules").join(&submodule.name);
        let inner = tree.join(&submodule.path);
        Filled { git: git.within(&inner, &own, &own), git_dir: own, submodule }
    });
    Ok(listed.filter(|one| one.git_dir.join("HEAD").is_file()).collect())
}

/// Commits what was changed inside submodules, and brings it home under `branch`.
pub fn commit(
    git: &Git,
    tree: &Path,
    git_dir: &Path,
    homes: &Homes,
    branch: &str,
    message: &Message,
) -> Result<()> {
    for one in filled(git, tree, git_dir)? {
        let inner = tree.join(&one.submodule.path);
        let home = homes.home(&one.submodule).ok_or_else(|| {
            Error::new(Exit::CouldNot, "there is no place to bring this submodule's commits to:").at(&inner)
        })?;
        let inner_homes = homes.inner(&one.submodule, &home);
        commit(&one.git, &inner, &one.git_dir, &inner_homes, branch, message)?;
        commit::all(&one.git, &Status::of(&one.git)?, &[], message)?;
        if one.git.text(&["rev-parse", "HEAD"])? != one.submodule.commit {
            bring_home(&one, &git.outside().without_tree(&home, &home), branch)?;
        }
    }
    Ok(())
}

/// As a file: git would run in a repository that it fetches from, and a worker may have written to that one.
fn bring_home(one: &Filled, at_home: &Git, branch: &str) -> Result<()> {
    let known = format!("^{}", one.submodule.commit);
    let bundle = one.git.bytes(&["bundle", "create", "--quiet", "-", "HEAD", &known])?;
    let failed = |error: std::io::Error| Error::io("cannot carry commits to", at_home.directory(), &error);
    let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
    file.write_all(&bundle).map_err(failed)?;
    let into = format!("+HEAD:refs/heads/{branch}");
    at_home.run(&["fetch".as_ref(), "--quiet".as_ref(), file.path().as_os_str(), into.as_ref()])
}

/// Why this tree must stay for its submodules' sake; nothing when all they hold is at home too.
pub fn in_the_way(git: &Git, tree: &Path, git_dir: &Path, homes: &Homes) -> Result<Option<String>> {
    for one in filled(git, tree, git_dir)? {
        let shown = one.submodule.path.display();
        if !Status::of(&one.git)?.entries.is_empty() {
            return Ok(Some(format!("submodule {shown} holds changes that are not committed")));
        }
        let inner = tree.join(&one.submodule.path);
        if let Some(path) = hidden::changed(&one.git)? {
            let path = one.submodule.path.join(path);
            return Ok(Some(format!(
                "not committed, and git was told not to look at it: {}",
                path.display()
            )));
        }
        if let Some(why) = beside(&one.git, &inner, &one.git_dir)? {
            return Ok(Some(format!("in submodule {shown}: {why}")));
        }
        let Some(home) = homes.home(&one.submodule) else {
            return Ok(Some(format!("submodule {shown} is nowhere else")));
        };
        let at_home = git.without_tree(&home, &home);
        let mut held = vec![one.git.text(&["rev-parse", "HEAD"])?];
        held.extend(one.git.lines(&[
            "for-each-ref",
            "--format=%(objectname)",
            "refs/heads",
            "refs/stash",
        ])?);
        for commit in held.iter().filter(|line| !line.is_empty()) {
            let missing = at_home.ask(&["rev-list", "-1", commit, "--not", "--all"])?;
            if !missing.is_yes() || !missing.text().is_empty() {
                return Ok(Some(format!("submodule {shown} holds a commit that is nowhere else")));
            }
        }
        let inner_homes = homes.inner(&one.submodule, &home);
        if let Some(why) = in_the_way(&one.git, &inner, &one.git_dir, &inner_homes)? {
            return Ok(Some(why));
        }
    }
    Ok(None)
}

/// Why this tree must stay for the sake of a repository that is none of its submodules', in it or in its git directory.
pub fn beside(git: &Git, tree: &Path, git_dir: &Path) -> Result<Option<String>> {
    let filled = filled(git, tree, git_dir)?;
    let inner: Vec<_> = filled.iter().map(|one| tree.join(&one.submodule.path)).collect();
    let own: Vec<_> = filled.into_iter().map(|one| one.git_dir).collect();
    Ok(match hidden::repository(git, tree, &inner)? {
        None => hidden::repository(git, &git_dir.join("modules"), &own)?,
        found => found,
    })
}
