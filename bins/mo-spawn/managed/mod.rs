//! Managed mode: mo-spawn owns the run. The worker is told a task, its work is checked and sent back, limits are kept,
//! and one result comes out.

mod arguments;
mod cast;
mod check;
mod client;
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
use shared::clock::rfc3339;
use shared::dispatch_id::DispatchId;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::paragraphs;
use shared::ledger::usage::Usage;
use shared::prices::Prices;
use shared::process;
use shared::record::Status;
use shared::session_files::{self, Before};
use shared::transcript;
use shared::world::World;

use crate::best_of;
use crate::dispatches::retention;
use crate::explain;
use crate::launch::Launch;
use crate::options::Task;
use crate::policy::Policy;
use crate::sandbox::Sandbox;
use crate::slot;

use earlier::Earlier;
use ending::Ending;
use engine::Engine;
use gate::Door;
use journal::Journal;
use meter::Meter;
use screen::Screen;
use talk::Talk;
use workplace::Workplace;

/// The most of the worker's last words that is kept.
const SUMMARY: usize = 512 << 10;

/// Runs a task to its end.
pub fn run(world: &World, task: &Task) -> Result<Exit> {
    if let Some(field) = task.best_of.as_ref().filter(|_| !task.explain) {
        return best_of::run(world, task, field);
    }
    let only = work::globs(&task.files)?;
    let task = &cast::of(world, task)?;
    let policy = Policy::gather(world, task.policy.as_deref(), &task.allow, &task.allowed_by_role)?
        .with_checks(&task.checks);
    if task.explain {
        let launch = Launch::prepare(world, &task.through(arguments::of(task, &policy)), &world.cwd())?;
        return explain::print(world, &launch);
    }
    let text = prompt::read(&task.source)?;
    let id = task.id.clone().unwrap_or_else(|| DispatchId::new(world.clock.now()));
    let told = told::write(world, task, &id)?;
    let task = Task { id: Some(id.clone()), told: Some(told), ..task.clone() };
    let earlier = Earlier::of(&world.paths, &task)?;
    let mut place = Some(Workplace::of(world, &task, &id)?);
    let exit = play(world, &task, &text, &mut place, only.as_ref(), policy, &earlier);
    // It never came to the work.
    if let Some(place) = place {
        place.abandon(world);
    }
    retention::now_and_then(world);
    exit
}

/// Prepares everything, takes the place, and does the work there.
fn play(
    world: &World,
    task: &Task,
    text: &str,
    place: &mut Option<Workplace>,
    only: Option<&GlobSet>,
    policy: Policy,
    earlier: &Earlier,
) -> Result<Exit> {
    let directory = place.as_ref().map_or_else(|| world.cwd(), |place| place.directory.clone());
    let launch = Launch::prepare(world, &task.through(arguments::of(task, &policy)), &directory)?;
    let meter = meter(world, task, &launch)?;
    let slot = slot::take(&world.paths, &launch.worker)?;
    let sandbox = Sandbox::of(world, &launch)?;
    let (sender, inputs) = inbox::open();
    // Before anything is started, so that no signal falls between.
    inbox::watch_signals(&sender)?;
    if task.tied {
        gate::tie(&sender, task.source != crate::options::Source::Stdin)?;
    }
    process::adopt_orphans();
    let session = launch.session.clone().ok_or_else(|| Error::new(Exit::Bug, "a task without a session"))?;
    let before = session_files::mark(&launch.worker.projects(), &session);
    let prompt = prompt::task(text, &task.files, &task.checks);
    let screen = Screen::new(world, task.progress, launch.worker.name.as_str());
    let mut journal = Journal::open(world, &launch, task, &prompt, screen, earlier)?;
    let door = launch.dispatch.as_ref().map(|id| Door::open(&world.env, id, &sender)).transpose()?;
    let place = place.take().ok_or_else(|| Error::new(Exit::Bug, "a task without a place"))?;
    place.note_in(&mut journal.record);
    journal.save();
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
        held: Vec::new(),
        pending: BTreeMap::new(),
        denied: BTreeSet::new(),
        launch,
    };
    let ending = engine.work(&prompt, only);
    let exit = close(world, engine, ending, &before);
    drop(door);
    exit
}

/// Prices, and whether a budget can be kept with them at all.
fn meter(world: &World, task: &Task, launch: &Launch) -> Result<Meter> {
    let (prices, trouble) = Prices::load(world);
    if let Some(trouble) = trouble.filter(|_| task.limits.money.is_some()) {
        world.say.error(&trouble);
    }
    let meter = Meter::new(prices, launch.worker.profile.flat_plan);
    if task.limits.money.is_none() {
        return Ok(meter);
    }
    if meter.is_flat() {
        world.say.note(&format!("{} is paid by the month: --budget-usd bounds nothing", launch.worker.name));
        return Ok(meter);
    }
    let model = crate::model::known(&launch.worker, launch.asked.model.as_deref());
    let model = model.map_or(launch.asked.model.as_deref(), |mapped| Some(mapped.model.as_str()));
    match model.filter(|model| !meter.has_price(model)) {
        Some(model) => Err(Error::new(
            Exit::Usage,
            format!(
                "no price is known for `{}`, so --budget-usd cannot be kept",
                shared::flatten::flatten(model, 80)
            ),
        )
        .hint("add it to ~/.claude-workers/prices.json, or bound it with --budget-tokens or --timeout")),
        None => Ok(meter),
    }
}

/// Ends what still runs, writes the record, and tells the result.
fn close(world: &World, mut engine: Engine, ending: Ending, before: &Before) -> Result<Exit> {
    let gently = matches!(ending.status, Status::Done | Status::CheckFailed);
    engine.dismiss();
    engine.end_client(gently);
    if let Some(sandbox) = &engine.sandbox {
        sandbox.mend(world);
    }
    let ending = settle(&mut engine, ending, before);
    let record = &mut engine.journal.record;
    record.status = Some(ending.status);
    record.error = ending.error;
    let merge = engine.place.finish(world, record);
    record.exit_code = Some(ending::exit(record).code().into());
    if record.status == Some(Status::Quota) {
        let at = engine.talk.resets_at.and_then(|at| jiff::Timestamp::from_second(at).ok());
        record.resets_at = at.map(rfc3339);
    }
    let reason = record.error.as_ref().map(|error| error.text.clone());
    let status = record.status.unwrap_or(Status::Failed);
    engine.journal.attempted(status, reason);
    let trouble = engine.journal.close();
    let (record, path) = (&engine.journal.record, &engine.journal.path);
    outcome::tell(
        world,
        record,
        path,
        merge.as_deref(),
        engine.task.json,
        engine.journal.screen.is_silent(),
    )?;
    // The run counts whatever happens to its record.
    if let Some(trouble) = trouble {
        world.say.error(&trouble);
    }
    Ok(ending::exit(record))
}

/// What the transcript knows better than the frames, and what follows from it.
fn settle(engine: &mut Engine, ending: Ending, before: &Before) -> Ending {
    let course =
        transcript::read(&engine.launch.worker.projects(), &engine.session, before).unwrap_or_default();
    for spent in &course.spent {
        let tokens = spent.tokens;
        let usage = Usage {
            input: tokens.input,
            output: tokens.output,
            cache_creation: tokens.cache_creation,
            cache_creation_1h: spent.for_an_hour,
            cache_read: tokens.cache_read,
        };
        engine.meter.note(&spent.id, &spent.model, usage);
    }
    let record = &mut engine.journal.record;
    if record.denials.is_empty() && engine.denied.is_empty() {
        // Older clients tell it in words only.
        record.denials = course.denials;
    }
    record.usage = engine.meter.by_model();
    let (cost, basis) = engine.meter.cost();
    (record.cost_usd, record.cost_basis) = (cost, Some(basis.to_owned()));
    let last = engine.talk.over.as_ref().and_then(|over| over.result.clone().filter(|_| !over.is_error));
    let last = last.filter(|text| !text.trim().is_empty()).or_else(|| engine.talk.text.clone());
    record.summary = last.map(|text| paragraphs(&text, SUMMARY));
    record.claude_version = engine.talk.version.clone().or(course.version);
    let denials = record.denials.len();
    if ending.status == Status::Done && denials > 0 {
        let text = if denials == 1 {
            "1 action was denied".to_owned()
        } else {
            format!("{denials} actions were denied")
        };
        return Ending::of(Status::Denied, "denied", text);
    }
    ending
}
