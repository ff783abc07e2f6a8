//! The pattern of a rule for files, as Claude Code writes it: `src/**`, `*.md` (at any depth), `~/notes`, `//abs/path`.

use std::path::{Path, PathBuf};

use super::command_pattern::Care;
use super::glob::Glob;
use super::place::{self, Place};

/// A pattern.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathPattern {
    base: Base,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Base {
    Root,
    Home,
    Directory,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Part {
    One(Glob),
    /// Any directories, also none.
    Any,
}

/// Where a rule is applied.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// The worker's directory.
    pub directory: &'a Path,
    /// The user's home.
    pub home: Option<&'a Path>,
}

impl PathPattern {
    /// Reads the text between a rule's brackets, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (base, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Base::Root, rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Base::Home, rest)
        } else if text.starts_with(['/', '~']) {
            return Err(format!(
                "a path from the root is written //{}, one in the working directory without the /",
                text.trim_start_matches(['/', '~'])
            ));
        } else {
            (Base::Directory, text.strip_prefix("./").unwrap_or(text))
        };
        let names: Vec<&str> = rest.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        if names.contains(&"..") {
            return Err("a pattern does not go up with `..`".to_owned());
        }
        if names.is_empty() && base == Base::Directory {
            return Err("a path pattern is missing".to_owned());
        }
        let mut parts: Vec<Part> = names
            .iter()
            .map(|name| if *name == "**" { Part::Any } else { Part::One(Glob::new(name)) })
            .collect();
        // A bare name means every file of that name.
        if base == Base::Directory && names.len() == 1 && !text.starts_with("./") {
            parts.insert(0, Part::Any);
        }
        Ok(Self { base, parts })
    }

    /// Whether this very name stands in it.
    pub fn names(&self, name: &str) -> bool {
        let is = |glob: &Glob| !glob.is_open() && glob.fits(name);
        self.parts.iter().any(|part| matches!(part, Part::One(glob) if is(glob)))
    }

    /// Whether it stands for this file.
    pub fn fits(&self, place: &Place, ground: Ground, care: Care) -> bool {
        let below = |path: &Path| self.below(path, ground);
        let real = place.real.as_deref().and_then(below);
        match care {
            Care::Sure => real.is_some_and(|names| self.holds(&names, care)),
            Care::Possible => {
                let named = below(&place.named);
                place.real.is_none() || real.into_iter().chain(named).any(|names| self.holds(&names, care))
            }
        }
    }

    /// Whether a search below this directory may come upon a file that it stands for.
    pub fn may_lie_below(&self, place: &Place, ground: Ground) -> bool {
        let Some(real) = &place.real else { return true };
        if self.base(ground).is_some_and(|base| base.starts_with(real)) {
            return true;
        }
        self.below(real, ground).is_some_and(|names| may_hold(&self.parts, &names))
    }

    fn base(&self, ground: Ground) -> Option<PathBuf> {
        match self.base {
            Base::Root => Some(PathBuf::from("/")),
            Base::Home => ground.home.and_then(place::real),
            Base::Directory => place::real(ground.directory),
        }
    }

    /// The path's names below the pattern's base.
    fn below(&self, path: &Path, ground: Ground) -> Option<Vec<String>> {
        let rest = path.strip_prefix(self.base(ground)?).ok()?;
        // A name that is no text is not surely any; none of its letters can be `*` by accident.
        Some(rest.iter().map(|name| name.to_string_lossy().into_owned()).collect())
    }

    /// A directory that is named stands for all below it; one that is only guessed, for itself.
    fn holds(&self, names: &[String], care: Care) -> bool {
        let is_named = matches!(self.parts.last(), Some(Part::One(last)) if !last.is_open());
        if is_named || care == Care::Possible {
            (0..=names.len()).any(|end| names.get(..end).is_some_and(|names| fits(&self.parts, names)))
        } else {
            fits(&self.parts, names)
        }
    }
}

fn fits(parts: &[Part], names: &[String]) -> bool {
    match (parts.split_first(), names.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((Part::Any, rest)), _) => {
            (0..=names.len()).any(|from| names.get(from..).is_some_and(|names| fits(rest, names)))
        }
        (Some((Part::One(pattern), parts)), Some((name, names))) => pattern.fits(name) && fits(parts, names),
        (Some((Part::One(_), _)), None) => false,
    }
}

fn may_hold(parts: &[Part], names: &[String]) -> bool {
    let (Some((part, parts)), Some((name, names))) = (parts.split_first(), names.split_first()) else {
        // Above what it stands for, or below it.
        return true;
    };
    match part {
        Part::Any => true,
        Part::One(pattern) => pattern.fits(name) && may_hold(parts, names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, path: &str, care: Care) -> bool {
        let ground = Ground { directory: Path::new("/w/p"), home: Some(Path::new("/w/h")) };
        let place = Place { named: Path::new("/w/p").join(path), real: Some(Path::new("/w/p").join(path)) };
        PathPattern::parse(pattern).unwrap().fits(&place, ground, care)
    }

    #[test]
    fn patterns_are_read_as_claude_code_writes_them() {
        for (pattern, path) in [
            ("src/**", "src/a/b.rs"),
            ("./src/**", "src/a"),
            ("src", "src/a/b"),
            (".env", "a/.env"),
            ("*.md", "a/b/c.md"),
            ("**", "x"),
            ("src/*.rs", "src/a.rs"),
            ("~/notes/*", "/w/h/notes/a"),
            ("//etc/hosts", "/etc/hosts"),
            ("//**", "/etc/hosts"),
        ] {
            assert!(fits(pattern, path, Care::Sure), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("src/**", "srcx/a"),
            ("src/*", "src/a/b"),
            ("./.env", "a/.env"),
            ("**", "/w/x"),
            ("src/**", "/w/h/src/a"),
            ("~/notes", "/w/p/notes"),
        ] {
            assert!(!fits(pattern, path, Care::Sure), "{pattern} {path}");
        }
        assert!(fits("src/*", "src/a/b", Care::Possible));
        for wrong in ["/etc", "~x", "a/../b", "", "."] {
            assert!(PathPattern::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_search_may_come_upon_what_lies_deeper() {
        let ground = Ground { directory: Path::new("/w/p"), home: None };
        let may = |pattern: &str, path: &str| {
            let place = Place { named: path.into(), real: Some(path.into()) };
            PathPattern::parse(pattern).unwrap().may_lie_below(&place, ground)
        };
        for (pattern, path) in [(".env", "/w/p"), ("a/b", "/w/p/a"), ("a/b", "/w"), ("a/b", "/w/p/a/b/c")] {
            assert!(may(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [("a/b", "/w/p/c"), ("a/*.x", "/w/p/a/b.y"), ("a", "/etc")] {
            assert!(!may(pattern, path), "{pattern} {path}");
        }
    }
}
