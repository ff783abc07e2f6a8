//! The dispatcher's settings: with a mistake in them nothing is dispatched.

use shared::dispatch_config::DispatchConfig;
use shared::world::World;

use super::line::{Line, Mark};

const SUBJECT: &str = "dispatcher";

/// Looks at the file, where there is one.
pub fn look(world: &World) -> Option<Line> {
    let is_there = DispatchConfig::path(&world.paths).is_ok_and(|path| path.exists());
    match DispatchConfig::load(&world.paths) {
        Err(error) => Some(Line::of_error(Mark::Bad, SUBJECT, &error)),
        Ok(config) => is_there.then(|| {
            let cap =
                config.daily_usd.map_or_else(|| "no limit".to_owned(), |cap| format!("at most ${cap:.2}"));
            let (frontier, overage) = (config.frontier.name(), config.overage.name());
            Line::ok(SUBJECT, format!("frontier {frontier}, overage {overage}, {cap} a day"))
        }),
    }
}
