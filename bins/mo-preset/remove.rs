//! `mo-preset remove`: takes away a preset of the user's own.

use shared::catalogue::Catalogue;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::preset::Origin;
use shared::world::World;

use crate::own_file::OwnFile;

/// Removes the preset; a bundled one cannot go.
pub fn run(world: &World, catalogue: &Catalogue, trouble: Option<&Error>, id: &str) -> Result<Exit> {
    let own = catalogue.get(id).is_some_and(|preset| preset.origin != Origin::Bundled);
    // Where the file is in trouble, the entry may be the one that could not be read.
    if !own && trouble.is_none() {
        return Err(refused(catalogue, id));
    }
    let file = OwnFile::open(world)?;
    if file.has(id) {
        file.remove(id)?;
        world.say.line(&format!("removed {id}"))?;
        if catalogue.get(id).is_some_and(|preset| preset.origin == Origin::OwnOverBundled) {
            world.say.note(&format!("the bundled preset `{id}` is back in its place"));
        }
        return Ok(Exit::Done);
    }
    Err(refused(catalogue, id))
}

fn refused(catalogue: &Catalogue, id: &str) -> Error {
    match catalogue.find(id) {
        Ok(_) => Error::new(Exit::Usage, format!("`{id}` is a bundled preset and cannot be removed"))
            .hint(format!("lay one of your own over it: mo-preset add {id} --base-url URL")),
        Err(missing) => missing,
    }
}
