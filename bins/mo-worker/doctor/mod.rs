//! mo-worker doctor: is everything in its place? Looks at one thing after another; `--fix` mends what it may.

mod client;
mod dispatcher;
mod leftovers;
mod line;
mod mending;
mod modes;
mod plugin;
mod programs;
mod project;
mod scope;
mod screen;
mod switches;
mod workers;

use shared::args::{Flag, Matches};
use shared::error::Result;
use shared::exit::Exit;
use shared::json_text;
use shared::lock::{self, Lock};
use shared::world::World;

use client::Client;
use line::{Line, Mark};

/// The flags of `doctor`.
pub const FLAGS: &[Flag] = &[
    Flag { long: "fix", value: "", about: "mend what can be mended" },
    Flag { long: "json", value: "", about: "as one JSON document" },
];

/// Looks at everything and shows it.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let mut lines = examine(world);
    if matches.has("fix") && lines.iter().any(|line| line.mending.is_some()) {
        lines = mend(world, lines);
    }
    if matches.has("json") {
        world.say.line(&json_text::pretty(&screen::document(&lines))?)?;
    } else {
        world.say.out(&screen::text(&lines, world.colour()))?;
    }
    Ok(if screen::is_healthy(&lines) { Exit::Done } else { Exit::CouldNot })
}

fn examine(world: &World) -> Vec<Line> {
    let here = Some(world.cwd()).filter(|here| here.is_absolute());
    let (scopes, mut broken) = scope::read_all(world, here.as_deref());
    let client = Client::look(world);
    let project = project::judge(&scopes, client.lets_projects_redirect);
    let mut lines = client.into_lines();
    lines.extend(programs::look(world));
    lines.append(&mut broken);
    lines.extend(plugin::look(world, &scopes));
    lines.extend(switches::judge(&scopes, &world.env));
    lines.extend(project);
    match world.paths.root() {
        Ok(_) => {
            lines.extend(programs::link(world));
            lines.extend(workers::look(world));
            lines.extend(dispatcher::look(world));
            lines.extend(modes::look(world));
            lines.extend(leftovers::look(world));
        }
        Err(error) => lines.push(Line::of_error(Mark::Bad, "workers", &error)),
    }
    lines
}

/// Under the lock that every change of a worker is made under.
fn mend(world: &World, mut lines: Vec<Line>) -> Vec<Line> {
    let locked = world.paths.workers_lock().and_then(|path| Lock::acquire(&path, lock::PATIENCE));
    if let Err(error) = &locked {
        lines.push(Line::of_error(Mark::Bad, "mending", error));
        return lines;
    }
    let mended = lines.into_iter().map(|mut line| match line.mending.take() {
        Some(mending) => line.after(mending.act(world)),
        None => line,
    });
    mended.collect()
}
