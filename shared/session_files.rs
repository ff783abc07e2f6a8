//! Where the transcripts of one session lie, its subagents' included, and how far they were written at a time.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// In a row the session is named before the message, and so within this.
const START_OF_ROW: u64 = 4096;

/// The files of one session and how long they were before a run began.
#[derive(Clone, Debug, Default)]
pub struct Before(HashMap<PathBuf, u64>);

impl Before {
    /// How long this file was.
    pub fn length(&self, path: &Path) -> u64 {
        self.0.get(path).copied().unwrap_or(0)
    }
}

/// All sessions of a worker and how long their transcripts are.
#[derive(Debug)]
pub struct Sessions(HashMap<PathBuf, u64>);

impl Sessions {
    /// Those that there are now.
    pub fn of(projects: &Path) -> Self {
        let folders = fs::read_dir(projects).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
        let sessions = files.filter(|file| {
            let path = file.path();
            path.extension().is_some_and(|end| end == "jsonl") && !is_agent(&path)
        });
        Self(sessions.map(|file| (file.path(), file.metadata().map_or(0, |meta| meta.len()))).collect())
    }

    /// The session that was added or went on since, and how long it was before; nothing when it is not
    /// the only one, because then it would be a guess.
    pub fn only_one_that_grew(&self, projects: &Path) -> Option<(String, Before)> {
        let now = Self::of(projects);
        let mut grown =
            now.0.into_iter().filter(|(path, length)| self.0.get(path).is_none_or(|old| old < length));
        let (path, _) = grown.next()?;
        if grown.next().is_some() {
            return None;
        }
        let session = path.file_stem()?.to_str()?.to_owned();
        let before = self.0.get(&path).map(|length| (path, *length)).into_iter().collect();
        Some((session, Before(before)))
    }
}

/// The transcript of this session below a `projects` directory, wherever it was run.
pub fn find(projects: &Path, session: &str) -> Option<PathBuf> {
    let name = format!("{session}.jsonl");
    let folders = fs::read_dir(projects).ok()?;
    folders.flatten().map(|folder| folder.path().join(&name)).find(|path| path.is_file())
}

/// The folder below `projects` for sessions of this directory.
pub fn folder_name(cwd: &Path) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    cwd.to_string_lossy().chars().map(plain).collect()
}

/// How long the session's files are now; rows up to there belong to earlier runs.
pub fn mark(projects: &Path, session: &str) -> Before {
    let files = find(projects, session).map(|main| files(&main)).unwrap_or_default();
    let length = |path: &PathBuf| fs::metadata(path).map_or(0, |meta| meta.len());
    Before(files.into_iter().map(|path| (path.clone(), length(&path))).collect())
}

/// The session's own file and those of its subagents, however deep.
pub fn files(main: &Path) -> Vec<PathBuf> {
    let mut found = vec![main.to_owned()];
    found.extend(beside(main));
    let mut folders = vec![main.with_extension("")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() && is_agent(&entry.path()) => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found
}

/// Older clients (2.0.76) put the subagents of all sessions beside them; each names its session.
fn beside(main: &Path) -> impl Iterator<Item = PathBuf> {
    let session = main.file_stem().unwrap_or_default().to_string_lossy();
    let mark = format!("\"sessionId\":\"{session}\"");
    let entries = main.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(move |path| {
        let mut start = Vec::new();
        let mut read = || File::open(path)?.take(START_OF_ROW).read_to_end(&mut start);
        is_agent(path) && read().is_ok() && String::from_utf8_lossy(&start).contains(&mark)
    })
}

fn is_agent(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("agent-") && path.extension().is_some_and(|extension| extension == "jsonl")
}
