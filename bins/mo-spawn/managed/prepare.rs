//! What is decided before a task begins: the role, the place, the launch, the rules, the limits.

use std::path::Path;

use shared::dispatch_id::DispatchId;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::prices::Prices;
use shared::worker::Worker;
use shared::world::World;

use super::arguments;
use super::cast;
use super::continuing::Forerunner;
use super::earlier::Earlier;
use super::meter::Meter;
use super::told;
use crate::launch::Launch;
use crate::model;
use crate::options::Task;
use crate::policy::Policy;

/// What was decided.
#[derive(Debug)]
pub struct Prepared {
    /// The dispatch.
    pub id: DispatchId,
    /// A record of it that waited.
    pub earlier: Earlier,
    /// The dispatch that it goes on with.
    pub forerunner: Option<Forerunner>,
    /// The rules for tools.
    pub policy: Policy,
    /// How Claude Code is started.
    pub launch: Launch,
    /// Tokens and money.
    pub meter: Meter,
}

impl Prepared {
    /// Decides everything that needs no place, and refuses what must not run. The task gets its id and what its role
    /// fills in.
    pub fn of(world: &World, task: &mut Task) -> Result<Self> {
        let id = task.id.get_or_insert_with(|| DispatchId::new(world.clock.now())).clone();
        *task = cast::of(world, task)?;
        if !task.explain {
            task.told = Some(told::write(world, task, &id)?);
        }
        let earlier = Earlier::of(&world.paths, task)?;
        let worker = Worker::load(&world.paths, &task.worker)?;
        let forerunner = task
            .continue_from
            .as_ref()
            .map(|id| Forerunner::find(world, id, &worker, task.anew))
            .transpose()?;
        let policy = Policy::gather(world, task.policy.as_deref(), &task.allow, &task.allowed_by_role)?
            .with_checks(&task.checks);
        let session = forerunner.as_ref().and_then(|before| before.session.as_deref());
        let words = arguments::of(task, &policy, session);
        let cwd = world.cwd();
        let directory = forerunner.as_ref().map_or(cwd.as_path(), |before| Path::new(&before.record.cwd));
        let launch = Launch::prepare(world, &task.through(words), directory)?;
        let meter = meter(world, task, &launch)?;
        Ok(Self { id, earlier, forerunner, policy, launch, meter })
    }
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
    let known = model::known(&launch.worker, launch.asked.model.as_deref());
    let model = known.map_or(launch.asked.model.as_deref(), |mapped| Some(mapped.model.as_str()));
    match model.filter(|model| !meter.has_price(model)) {
        Some(model) => Err(Error::new(
            Exit::Usage,
            format!("no price is known for `{}`, so --budget-usd cannot be kept", flatten(model, 80)),
        )
        .hint("add it to ~/.claude-workers/prices.json, or bound it with --budget-tokens or --timeout")),
        None => Ok(meter),
    }
}
