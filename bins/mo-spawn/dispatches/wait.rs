//! `mo-spawn wait`: until dispatches have ended.

use std::thread;
use std::time::{Duration, Instant};

use shared::args::{Flag, Matches};
use shared::dispatches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::json_text;
use shared::record::{Record, Status};
use shared::world::World;

use super::JSON;
use super::stop::{operands, settled};

/// The flags.
pub const FLAGS: &[Flag] = &[
    JSON,
    Flag { long: "timeout", value: "SECONDS", about: "give up waiting after this time (exit code 124)" },
];

/// Pauses between looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Waits for all of them and prints a line as each ends, or with `--json` their records.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let limit = matches.value("timeout").map(seconds).transpose()?;
    let mut left: Vec<_> = operands(matches)?
        .iter()
        .map(|id| dispatches::find(&world.paths, id).map(|(path, record)| (path, record.id)))
        .collect::<Result<_>>()?;
    let start = Instant::now();
    let mut exit = Exit::Done;
    loop {
        let mut open = Vec::new();
        for (path, id) in left {
            let Some(status) = settled(world, &path)? else {
                open.push((path, id));
                continue;
            };
            if matches.has("json") {
                if let Some(record) = Record::read(&path)? {
                    world.say.line(&json_text::pretty(&record)?)?;
                }
            } else {
                world.say.line(&format!("{id} {}", status.name()))?;
            }
            exit = worse(exit, status);
        }
        left = open;
        if left.is_empty() {
            return Ok(exit);
        }
        if limit.is_some_and(|limit| start.elapsed() >= limit) {
            return Err(Error::new(
                Exit::TimedOut,
                format!("{} still running after the time given", left.len()),
            )
            .hint("`mo-spawn ps` shows them"));
        }
        thread::sleep(PAUSE);
    }
}

/// The first ending that was not good decides.
fn worse(exit: Exit, status: Status) -> Exit {
    if exit == Exit::Done { status.exit() } else { exit }
}

fn seconds(typed: &str) -> Result<Duration> {
    typed.parse().map(Duration::from_secs).map_err(|_| {
        Error::new(Exit::Usage, "--timeout takes a number of seconds").hint("like --timeout 600")
    })
}
