//! Our own programs: all here, all of one version, found on PATH, and reached by the link that shims go through.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use shared::paths;
use shared::search;
use shared::sibling::{self, PROGRAMS};
use shared::world::World;

use super::line::Line;
use super::mending::Mending;
use crate::reply;

const OURS: &str = env!("CARGO_PKG_VERSION");

/// Looks at all of them, here and on PATH.
pub fn look(world: &World) -> Vec<Line> {
    let Some(folder) = sibling::folder() else {
        return vec![Line::bad("programs", "cannot tell where this program lies")];
    };
    let versions = PROGRAMS.iter().map(|name| (*name, version_of(&folder.join(name), name))).collect();
    let mut lines = vec![together(&versions, &paths::shown(&folder, &world.paths))];
    lines.push(path(search::on_path("mo-worker", &world.env).as_deref(), &folder, world));
    lines
}

/// The version a program says it is; nothing where there is no such program.
fn version_of(program: &Path, name: &str) -> Option<String> {
    let answer = reply::of(program, "--version").ok()?;
    Some(answer.trim().strip_prefix(name)?.trim().to_owned())
}

fn together(versions: &BTreeMap<&str, Option<String>>, folder: &str) -> Line {
    let missing: Vec<_> =
        versions.iter().filter(|(_, version)| version.is_none()).map(|(name, _)| *name).collect();
    let other: Vec<_> = versions
        .iter()
        .filter_map(|(name, version)| version.as_ref().map(|version| (name, version)))
        .filter(|(_, version)| *version != OURS)
        .map(|(name, version)| format!("{name} is {version}"))
        .collect();
    let again = "install all programs again into one folder, with `make install`";
    if !missing.is_empty() {
        let what = format!("missing or broken in {folder}: {}", missing.join(", "));
        return Line::bad("programs", what).next(again);
    }
    if !other.is_empty() {
        let what = format!("of different versions in {folder}: this is {OURS}, {}", other.join(", "));
        return Line::bad("programs", what).next(again);
    }
    Line::ok("programs", format!("all {} in {folder}, version {OURS}", versions.len()))
}

fn path(found: Option<&Path>, folder: &Path, world: &World) -> Line {
    let here = paths::shown(folder, &world.paths);
    let Some(found) = found else {
        return Line::warn("path", "no mo-worker on PATH")
            .next(format!("add {here} to PATH in your shell's profile"));
    };
    let same = |one: &Path, other: &Path| fs::canonicalize(one).ok() == fs::canonicalize(other).ok();
    if same(found, &folder.join("mo-worker")) {
        return Line::ok("path", "the programs on PATH are these");
    }
    let elsewhere = paths::shown(found, &world.paths);
    match version_of(found, "mo-worker") {
        Some(version) if version == OURS => {
            Line::ok("path", format!("PATH has another copy of this version: {elsewhere}"))
        }
        version => {
            let version = version.unwrap_or_else(|| "a broken one".to_owned());
            Line::warn("path", format!("PATH has another mo-worker: {elsewhere}, {version}"))
                .next(format!("remove it, or put {here} first on PATH"))
        }
    }
}

/// The link that shims go through. Without a root there are no shims, and no link is missed.
pub fn link(world: &World) -> Option<Line> {
    let (root, link) = (world.paths.root().ok()?, world.paths.bin().ok()?);
    if !root.is_dir() {
        return None;
    }
    let version = version_of(&link.join("mo-spawn"), "mo-spawn");
    let target = fs::read_link(&link).ok();
    Some(sound(target, &sibling::folder()?, version.as_deref(), &paths::shown(&link, &world.paths)))
}

fn sound(target: Option<PathBuf>, folder: &Path, version: Option<&str>, place: &str) -> Line {
    let bad = |what: String| Line::bad("shim link", what).mend(Mending::Link);
    match (target, version) {
        (None, _) => bad(format!("{place} is missing: no `run` of a worker works")),
        (Some(target), None) => {
            bad(format!("{place} leads to {}, where no mo-spawn works", target.display()))
        }
        (Some(target), Some(OURS)) => {
            let whose = if target == folder { "these programs" } else { "programs of this version" };
            Line::ok("shim link", format!("{place} leads to {whose}"))
        }
        (Some(target), Some(other)) => {
            bad(format!("{place} leads to {}, version {other}, and this is {OURS}", target.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::Mark;
    use super::*;

    fn versions(odd: Option<&str>) -> BTreeMap<&'static str, Option<String>> {
        [("mo-key", Some(OURS.to_owned())), ("mo-spawn", odd.map(str::to_owned))].into_iter().collect()
    }

    #[test]
    fn a_missing_program_and_one_of_another_version_are_named() {
        assert_eq!(together(&versions(Some(OURS)), "/b").mark, Mark::Ok);
        assert!(together(&versions(None), "/b").what.ends_with("in /b: mo-spawn"));
        assert!(together(&versions(Some("9.9.9")), "/b").what.ends_with("mo-spawn is 9.9.9"));
    }

    #[test]
    fn a_link_must_lead_to_programs_of_this_version() {
        let here = Path::new("/here");
        for (target, version, good) in [
            (None, None, false),
            (Some("/gone"), None, false),
            (Some("/here"), Some(OURS), true),
            (Some("/there"), Some(OURS), true),
            (Some("/there"), Some("0.0.1"), false),
        ] {
            let line = sound(target.map(PathBuf::from), here, version, "~/.bin");
            assert_eq!((line.mark == Mark::Ok, line.mending.is_none()), (good, good), "{}", line.what);
        }
    }
}
