//! Managed mode: mo-spawn owns the run. The worker is told a task, its work is checked and sent back, limits are kept,
//! and one result comes out.

mod arguments;
mod cast;
mod check;
mod client;
mod closing;
mod continuing;
mod detach;
mod earlier;
mod ending;
mod engine;
mod events;
mod files;
mod frame;
pub mod gate;
pub mod inbox;
mod journal;
mod lines;
mod meter;
mod outcome;
mod policy;
mod prepare;
mod project;
pub mod prompt;
mod screen;
mod speech;
mod talk;
mod told;
mod turn;
mod work;
mod workplace;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use globset::GlobSet;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::process;
use shared::session_files;
use shared::world::World;

use crate::best_of;
use crate::dispatches::retention;
use crate::explain;
use crate::options::{Source, Task};
use crate::redirect;
use crate::sandbox::Sandbox;
use crate::slot;

use closing::Closing;
use engine::Engine;
use gate::Door;
use journal::Journal;
use prepare::Prepared;
use project::Reading;
use screen::Screen;
use talk::Talk;
use workplace::Workplace;

/// Runs a task to its end, or starts it in the background.
pub fn run(world: &World, mut task: Task) -> Result<Exit> {
    if let Some(field) = task.best_of.as_ref().filter(|_| !task.explain) {
        return best_of::run(world, &task, field);
    }
    let only = work::globs(&task.files)?;
    if task.detach && !task.explain {
        return detach::start(world, &task);
    }
    let in_background = detach::is_supervisor(world);
    let prepared = Prepared::of(world, &mut task)?;
    if task.explain {
        return explain::print(world, &prepared.launch);
    }
    let text = prompt::read(&task.source)?;
    let confined = prepared.launch.sandbox.is_some();
    let place = match &prepared.forerunner {
        Some(before) => Workplace::again(world, &before.record, confined)?,
        None => Workplace::of(world, &task, &prepared.id, confined)?,
    };
    let mut place = Some(place);
    let exit = play(world, &task, &text, &mut place, only.as_ref(), prepared, in_background);
    // It never came to the work.
    if let Some(place) = place {
        place.abandon(world);
    }
    retention::now_and_then(world);
    exit
}

/// Takes the place, and does the work there.
fn play(
    world: &World,
    task: &Task,
    text: &str,
    place: &mut Option<Workplace>,
    only: Option<&GlobSet>,
    prepared: Prepared,
    in_background: bool,
) -> Result<Exit> {
    let Prepared { id, earlier, forerunner, policy, mut launch, meter } = prepared;
    let asked_from = launch.directory.clone();
    if let Some(place) = place {
        launch.directory.clone_from(&place.directory);
        // Another directory than the caller's may hold other settings.
        redirect::refuse(world, &launch)?;
    }
    let reading = Reading::of(world, &asked_from, &launch.directory);
    launch.arguments.extend(reading.arguments());
    reading.tell(&launch.directory, task.told.as_deref())?;
    let slot = slot::take(&world.paths, &launch.worker)?;
    let sandbox = Sandbox::of(world, &launch)?;
    if let (Some(place), Some(sandbox)) = (place.as_mut(), &sandbox) {
        place.confine(sandbox)?;
    }
    let (sender, inputs) = inbox::open();
    // Before anything is started, so that no signal falls between.
    inbox::watch_signals(&sender)?;
    if task.tied {
        gate::tie(&sender, task.source != Source::Stdin)?;
    }
    process::adopt_orphans();
    let session = launch.session.clone().ok_or_else(|| Error::new(Exit::Bug, "a task without a session"))?;
    let before = session_files::mark(&launch.worker.projects(), &session);
    let prompt = prompt::task(text, &task.files, &task.checks);
    let screen = Screen::new(world, task.progress, launch.worker.name.as_str());
    let mut journal = Journal::open(world, &launch, task, &prompt, screen, &earlier)?;
    let door = Door::open(&world.env, &id, &sender)?;
    let place = place.take().ok_or_else(|| Error::new(Exit::Bug, "a task without a place"))?;
    place.note_in(&mut journal.record);
    journal.record.notes.extend(reading.note());
    if let Some(forerunner) = &forerunner {
        journal.before = forerunner.attempts();
        journal.record.continues = Some(forerunner.record.id.clone());
    }
    journal.save();
    if in_background {
        detach::ready(world);
    }
    let mut engine = Engine {
        task,
        session,
        place,
        journal,
        meter,
        talk: Talk::default(),
        client: None,
        policy,
        started: 0,
        slot,
        sandbox,
        clock: world.clock,
        inbox: sender,
        inputs,
        printed: Arc::new(AtomicU64::new(0)),
        deadline: task.limits.time.map(|time| Instant::now() + time),
        listening: false,
        finishing: false,
        held: Vec::new(),
        pending: BTreeMap::new(),
        denied: BTreeSet::new(),
        launch,
    };
    let ending = engine.work(&prompt, only);
    let exit = Closing { world, before: &before, in_background }.close(engine, ending);
    drop(door);
    exit
}
