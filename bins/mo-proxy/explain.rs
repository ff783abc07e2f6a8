//! `mo-proxy explain`: where a model's name leads. It reads what a gateway would read, and asks nobody.

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::json_text;
use shared::world::World;

use crate::route::Routes;
use crate::route::explain::Explanation;
use crate::transform::outline;

/// Shows where the name leads.
pub fn run(world: &World, asked: &str, json: bool) -> Result<Exit> {
    let (_, routes) = Routes::load(world)?;
    let route = routes.find(asked).map_err(|unknown| Error::new(Exit::Usage, unknown.to_string()))?;
    let told = Explanation::of(asked, &route, outline);
    if json {
        world.say.line(&json_text::pretty(&told)?)?;
    } else {
        world.say.out(&told.text())?;
    }
    Ok(Exit::Done)
}
