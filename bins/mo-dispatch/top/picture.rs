//! How everything stands at one moment.

use serde::Serialize;
use shared::dispatch_config::DispatchConfig;
use shared::error::Result;
use shared::moment::Moment;
use shared::world::World;

use super::tasks::{self, Task};
use super::workers::{self, Row};

/// Everything.
#[derive(Debug, Serialize)]
pub struct Picture {
    version: u32,
    /// When it was taken.
    pub at: Moment,
    /// The workers, by name.
    pub workers: Vec<Row>,
    /// What waits or is at work, the oldest first.
    pub tasks: Vec<Task>,
    /// What the dispatches that ended today cost, as far as their prices are known.
    pub today_usd: f64,
    /// How many of them have no known price.
    pub today_unpriced: usize,
    /// How many ended today.
    pub today_ended: usize,
    /// What is wrong with the settings: nothing is dispatched until it is mended.
    pub mistake: Option<String>,
}

impl Picture {
    /// Looks at everything.
    pub fn take(world: &World) -> Result<Self> {
        let now = world.clock.now();
        let day = tasks::look(world, now)?;
        Ok(Self {
            version: 1,
            at: now.into(),
            workers: workers::look(world, &day.tasks, now)?,
            tasks: day.tasks,
            today_usd: day.usd,
            today_unpriced: day.unpriced,
            today_ended: day.ended,
            mistake: DispatchConfig::load(&world.paths).err().map(|error| error.to_string()),
        })
    }
}
