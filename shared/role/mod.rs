//! A role: what a worker is to be good at, with which tools, how freely, at which tier. One Markdown file each.
//! The user's own file wins over the bundled one. A project's only narrows, unless the user trusts the project.

mod bundled;
mod draft;
mod narrow;
mod project;
mod tool;
pub mod trust;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file;
use crate::name::Name;
use crate::paths::Paths;
use crate::permission_mode::PermissionMode;
use crate::redact::typed;
use crate::report;
use crate::tier::Tier;

use draft::{CAP, Draft};
use project::Place;
pub use tool::Tool;
use trust::Trusted;

/// The longest prompt: it is one argument of Claude Code, and a system takes no argument above 128 KiB.
const LONGEST_PROMPT: usize = 96 << 10;

/// Where a role comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Compiled in.
    Bundled,
    /// The user's own.
    Own,
    /// The user's own, in place of a bundled one.
    OwnOverBundled,
    /// A project's that the user trusts.
    TrustedProject,
    /// A project's that nobody vouches for: it reads, and no more.
    Project,
}

impl Origin {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Bundled => "bundled",
            Self::Own => "own",
            Self::OwnOverBundled => "own, over the bundled one",
            Self::TrustedProject => "trusted project",
            Self::Project => "project, reads only",
        }
    }
}

/// A role as it may be played.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Role {
    /// Its name.
    pub name: Name,
    /// Where it comes from.
    pub origin: Origin,
    /// What it is for, in one line.
    pub description: String,
    /// The tools it gets, and the uses of them that need no question; empty for none at all.
    pub tools: Vec<Tool>,
    /// The tier it wants; the worker's own default where it names none.
    pub tier: Option<Tier>,
    /// What it may do without being asked.
    pub permission: PermissionMode,
    /// The form of its answer, in one line.
    pub output: Option<String>,
    /// The project's files that narrow it.
    pub narrowed_by: Vec<PathBuf>,
    /// What those files wished and did not get.
    pub withheld: Vec<String>,
    /// The words to the worker.
    pub prompt: String,
}

impl Role {
    /// A file that is taken at its word.
    fn of(name: &Name, origin: Origin, draft: Draft) -> Self {
        Self {
            name: name.clone(),
            origin,
            description: draft.description.unwrap_or_default(),
            tools: draft.tools.unwrap_or_else(Tool::read_only),
            tier: draft.tier,
            permission: draft.permission.unwrap_or_default(),
            output: draft.output,
            narrowed_by: Vec::new(),
            withheld: Vec::new(),
            prompt: draft.prompt,
        }
    }

    /// What a role that only an untrusted project knows starts from: it reads, and no more.
    fn reader(name: &Name, draft: &Draft) -> Self {
        let bare = Draft { description: draft.description.clone(), ..Draft::default() };
        Self::of(name, Origin::Project, bare)
    }

    /// The names of its tools, each once: what `--tools` takes.
    pub fn tool_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for tool in &self.tools {
            if !names.contains(&tool.name()) {
                names.push(tool.name());
            }
        }
        names
    }

    /// The uses that need no question, like `Bash(git diff:*)`: what `--allowedTools` takes.
    pub fn uses(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().filter(|tool| tool.is_use()).map(Tool::as_str)
    }

    /// What the caller should know: which files of the project have a say, and what they did not get.
    pub fn notes(&self) -> Vec<String> {
        let whose =
            |path: &PathBuf| format!("the project narrows the role `{}`: {}", self.name, path.display());
        let withheld =
            self.withheld.iter().map(|what| format!("the role `{}` does not get {what}", self.name));
        self.narrowed_by.iter().map(whose).chain(withheld).collect()
    }

    /// All that is said to the worker: the role's words, the form of its answer, the report that is demanded.
    pub fn system_prompt(&self) -> String {
        let mut parts = vec![self.prompt.clone()];
        if let Some(output) = &self.output {
            parts.push(format!("Form of your final message: {output}"));
        }
        parts.push(report::demand(self.name.as_str()));
        parts.join("\n\n")
    }
}

/// The role of this name, as it holds in this directory.
pub fn find(paths: &Paths, project: &Path, name: &str) -> Result<Role> {
    let name = Name::of_role(name)?;
    let sources = Sources::of(paths, project)?;
    sources.role(&name)?.ok_or_else(|| {
        let names: Vec<String> = sources.names().into_iter().collect();
        Error::new(Exit::Usage, format!("there is no role `{}`", typed(name.as_str()))).hint(format!(
            "the roles are {}; your own go into ~/.claude-workers/.roles/NAME.md",
            names.join(", ")
        ))
    })
}

/// All roles as they hold in this directory, and what is wrong with files of roles.
pub fn all(paths: &Paths, project: &Path) -> Result<(Vec<Role>, Vec<Error>)> {
    let sources = Sources::of(paths, project)?;
    let mut troubles: Vec<Error> = sources.trouble.iter().cloned().collect();
    let mut roles = Vec::new();
    for name in sources.names() {
        match Name::of_role(&name).and_then(|name| sources.role(&name)) {
            Ok(role) => roles.extend(role),
            Err(error) => troubles.push(error),
        }
    }
    Ok((roles, troubles))
}

/// Whether the user trusts the project of this directory; not where the list cannot be read.
pub fn trusts(paths: &Paths, directory: &Path) -> bool {
    Trusted::read(paths).is_ok_and(|trusted| project::is_trusted(directory, &trusted))
}

/// Where roles can come from, for one directory.
struct Sources {
    own: PathBuf,
    places: Vec<Place>,
    /// Why nothing is trusted, where the list cannot be read.
    trouble: Option<Error>,
}

impl Sources {
    fn of(paths: &Paths, project: &Path) -> Result<Self> {
        let (trusted, trouble) = match Trusted::read(paths) {
            Ok(trusted) => (trusted, None),
            Err(error) => (Trusted::default(), Some(error)),
        };
        Ok(Self { own: paths.roles()?, places: project::places(project, &trusted), trouble })
    }

    /// All names there are files for, legal or not.
    fn names(&self) -> BTreeSet<String> {
        let folders = std::iter::once(&self.own).chain(self.places.iter().map(|place| &place.folder));
        let files = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let own = files.filter_map(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            name.strip_suffix(".md").filter(|name| !name.eq_ignore_ascii_case("readme")).map(str::to_owned)
        });
        own.chain(bundled::BUNDLED.iter().map(|(name, _)| (*name).to_owned())).collect()
    }

    fn role(&self, name: &Name) -> Result<Option<Role>> {
        let own = self.own(name)?;
        let is_own = own.is_some();
        let mut role = match own {
            Some(role) => Some(role),
            None => bundled(name)?,
        };
        for place in &self.places {
            let Some((path, draft)) = place.draft(name.as_str())? else { continue };
            role = Some(match role {
                _ if place.trusted && !is_own => Role::of(name, Origin::TrustedProject, draft),
                Some(role) => role.narrowed(&draft, &path),
                None => Role::reader(name, &draft).narrowed(&draft, &path),
            });
        }
        role.map(|role| self.checked(role)).transpose()
    }

    fn own(&self, name: &Name) -> Result<Option<Role>> {
        let path = self.own.join(format!("{name}.md"));
        let Some(bytes) = file::read_if_there(&path, CAP)? else { return Ok(None) };
        let origin =
            if bundled::file(name.as_str()).is_some() { Origin::OwnOverBundled } else { Origin::Own };
        Ok(Some(Role::of(name, origin, Draft::read(&path, &bytes)?)))
    }

    fn checked(&self, mut role: Role) -> Result<Role> {
        if role.prompt.is_empty() {
            let what =
                format!("the role `{}` has no words to the worker: its file ends with its head", role.name);
            return Err(Error::new(Exit::Data, what).hint("write below the second `---` what it has to do"));
        }
        if role.prompt.len() > LONGEST_PROMPT {
            return Err(Error::new(
                Exit::Data,
                format!("the words of the role `{}` are too long", role.name),
            )
            .hint(format!("{} KiB are the most, those of the project included", LONGEST_PROMPT >> 10)));
        }
        if let Some(error) = self.trouble.as_ref().filter(|_| !role.narrowed_by.is_empty()) {
            role.withheld.push(format!("trust in any project, because the list cannot be read: {error}"));
        }
        Ok(role)
    }
}

fn bundled(name: &Name) -> Result<Option<Role>> {
    let Some(text) = bundled::file(name.as_str()) else { return Ok(None) };
    let path = PathBuf::from(format!("plugin/roles/{name}.md"));
    Draft::read(&path, text.as_bytes()).map(|draft| Some(Role::of(name, Origin::Bundled, draft)))
}

#[cfg(test)]
mod tests;
