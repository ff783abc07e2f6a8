//! `mo-spawn worktrees`: which trees there are and how each stands; with `--prune`, those that hold nothing that is
//! not elsewhere go.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;
use shared::args::{Flag, Matches};
use shared::dispatches;
use shared::error::Result;
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::json_text;
use shared::table;
use shared::world::World;

use super::card::{Card, Place};
use super::git::Git;
use super::look::{self, Look, State};
use super::proof::Proof;
use super::removal::{self, Removal};
use super::repository::Repository;
use crate::dispatches::age;

/// Its flags.
pub const FLAGS: &[Flag] = &[
    Flag { long: "json", value: "", about: "print JSON for programs" },
    Flag { long: "all", value: "", about: "of every repository, not only the one around here" },
    Flag { long: "prune", value: "", about: "take away those that are empty or safely merged" },
];

#[derive(Serialize)]
struct Document {
    version: u32,
    worktrees: Vec<Row>,
}

/// One tree, as it is shown.
#[derive(Debug, Default, Serialize)]
struct Row {
    id: String,
    state: &'static str,
    why: Option<String>,
    pruned: bool,
    merged_into: Option<String>,
    title: Option<String>,
    worker: Option<String>,
    status: Option<&'static str>,
    repo: Option<String>,
    path: String,
    branch: Option<String>,
    base_commit: Option<String>,
    commit: Option<String>,
    created: Option<String>,
    size_bytes: u64,
    #[serde(skip)]
    age: Option<String>,
}

/// Lists them, and takes away what may go.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let git = Git::find(world, Path::new("/"))?;
    let here = if matches.has("all") { None } else { Repository::around(&git, &world.cwd())? };
    let mut rows = Vec::new();
    let mut ended = Exit::Done;
    for place in Place::all(world)? {
        let card = match place.card() {
            Ok(card) => card,
            Err(error) => {
                rows.push(Row { why: Some(error.to_string()), ..Row::bare(&place, "broken") });
                continue;
            }
        };
        if here.as_ref().is_some_and(|here| here.common_dir != card.common_dir) {
            continue;
        }
        let mut row = Row::of(world, &place, &card);
        // One that cannot be looked at hides none of the others.
        if let Err(error) = row.take_in(world, &git, &place, &card, matches.has("prune")) {
            (row.state, row.why) = ("broken", Some(error.to_string()));
            ended = Exit::CouldNot;
        }
        rows.push(row);
    }
    if matches.has("json") {
        world.say.line(&json_text::pretty(&Document { version: 1, worktrees: rows })?)?;
        return Ok(ended);
    }
    if rows.is_empty() {
        world.say.note("there are no worktrees of dispatches here");
        return Ok(ended);
    }
    print(world, &rows)?;
    if !matches.has("prune") && rows.iter().any(|row| ["merged", "empty"].contains(&row.state)) {
        world.say.hint("`mo-spawn worktrees --prune` takes away those that are merged or empty");
    }
    Ok(ended)
}

fn print(world: &World, rows: &[Row]) -> Result<()> {
    let heading = ["ID", "STATE", "AGE", "SIZE", "WORKER", "TITLE", ""];
    let mut cells = vec![heading.map(str::to_owned).to_vec()];
    for row in rows {
        let text = |value: &Option<String>, most| flatten(value.as_deref().unwrap_or("-"), most);
        let state = if row.pruned { format!("{}, gone", row.state) } else { row.state.to_owned() };
        let tip = row.commit.as_deref().and_then(|tip| tip.get(..10)).unwrap_or_default();
        let why = match (&row.merged_into, &row.why) {
            (Some(into), _) if row.state == "merged" => format!("{tip} is in {into}"),
            (_, Some(why)) => why.clone(),
            _ => String::new(),
        };
        cells.push(vec![
            row.id.clone(),
            state,
            text(&row.age, 8),
            size(row.size_bytes),
            text(&row.worker, 20),
            text(&row.title, 40),
            flatten(&why, 200),
        ]);
    }
    world.say.out(&table::columns(&cells, world.colour()))
}

impl Row {
    fn bare(place: &Place, state: &'static str) -> Self {
        Self { id: place.id().to_owned(), state, path: text(&place.tree()), ..Self::default() }
    }

    fn of(world: &World, place: &Place, card: &Card) -> Self {
        let record = dispatches::find(&world.paths, place.id()).ok().map(|(_, record)| record);
        Self {
            title: record.as_ref().and_then(|record| record.title.clone()),
            worker: record.as_ref().map(|record| record.worker.clone()),
            status: record.and_then(|record| record.status).map(shared::record::Status::name),
            repo: Some(text(card.repo.as_ref().unwrap_or(&card.common_dir))),
            branch: Some(card.branch.clone()),
            base_commit: Some(card.base_commit.clone()),
            created: Some(card.created.clone()),
            age: age::between(Some(&card.created), None, world.clock.now()),
            size_bytes: used(&place.tree()),
            ..Self::bare(place, "")
        }
    }

    fn take_in(&mut self, world: &World, git: &Git, place: &Place, card: &Card, prune: bool) -> Result<()> {
        let Some(occupied) = place.occupy()? else {
            let why = "a mo-spawn works in it".to_owned();
            self.show(&Look { state: State::InUse(why), has_tree: true, tip: None, brought: Vec::new() });
            return Ok(());
        };
        let look = look::at(world, git, place, card)?;
        self.show(&look);
        if prune && look.state.proof().is_some() {
            match removal::remove(world, git, place, card, &occupied)? {
                Removal::Gone { tip, proof } => {
                    self.pruned = true;
                    self.commit = tip;
                    self.merged_into = Some(proof.whereabouts());
                }
                Removal::Kept(look) => self.show(&look),
            }
        }
        Ok(())
    }

    fn show(&mut self, look: &Look) {
        self.commit.clone_from(&look.tip);
        self.merged_into = None;
        self.why = None;
        match &look.state {
            State::InUse(why) => (self.state, self.why) = ("in use", Some(why.clone())),
            State::Broken(why) => (self.state, self.why) = ("broken", Some(why.clone())),
            State::Dirty(why) => (self.state, self.why) = ("dirty", Some(why.clone())),
            State::Unmerged(why) => (self.state, self.why) = ("clean", Some(why.clone())),
            State::Empty(_) => self.state = "empty",
            State::Merged(proof) => {
                self.state = "merged";
                self.merged_into = Some(proof.whereabouts());
                if matches!(proof, Proof::Squashed(_)) {
                    self.why = Some("squashed or rebased".to_owned());
                }
            }
        }
        if !look.has_tree && !matches!(look.state, State::Broken(_) | State::InUse(_)) {
            self.why = Some(format!("{}; its tree is gone", self.why.as_deref().unwrap_or(self.state)));
            self.state = "orphaned";
        }
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What the tree takes on the disk, its own git directory aside.
fn used(tree: &Path) -> u64 {
    let mut sum = 0;
    let mut open = vec![tree.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            sum += meta.blocks() * 512;
            if meta.is_dir() {
                open.push(entry.path());
            }
        }
    }
    sum
}

/// In a unit that a person reads.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        1_048_576..1_073_741_824 => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}
