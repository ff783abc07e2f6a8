//! Reading what routes are made of: the configuration, the catalogue and the workers.

use std::path::{Path, PathBuf};

use shared::catalogue::Catalogue;
use shared::error::Result;
use shared::file;
use shared::role;
use shared::roster;
use shared::world::World;

use super::Routes;
use super::known::Known;
use crate::config::{self, Config, without_meaning};

impl Routes {
    /// Where the configuration lies.
    pub fn config_path(world: &World) -> Result<PathBuf> {
        Ok(world.paths.proxy()?.join("config.json"))
    }

    /// The configuration and its routes. Every mistake is told on its own line; a worker or preset that cannot be
    /// read is told and left out.
    pub fn load(world: &World) -> Result<(Config, Self)> {
        let path = Self::config_path(world)?;
        let text = file::read_if_there(&path, file::JSON_CAP)?;
        let (catalogue, trouble) = Catalogue::load(world);
        let (workers, troubles) = Known::of_roster(roster::read(&world.paths)?, &catalogue);
        for trouble in trouble.iter().chain(&troubles) {
            world.say.error(trouble);
        }
        for note in without_meaning(&world.env) {
            world.say.note(&note);
        }
        // Which directory a session works in is not known here: a project's own roles have to be mapped.
        let roles = role::all(&world.paths, Path::new("/")).map(|(roles, _)| roles).unwrap_or_default();
        let texts = roles.into_iter().map(|role| (role.name.as_str().to_owned(), role.tier));
        let (config, mut mistakes) = Config::read_all(&world.env, &path, text.as_deref());
        let settled = match Self::settle(&config, &path, &catalogue, workers) {
            Ok(routes) if mistakes.is_empty() => Ok((config, routes.with_roles(texts))),
            settled => {
                // What follows from a mistake on the same line is not told again.
                let more = settled.err().unwrap_or_default().into_iter();
                let more: Vec<_> =
                    more.filter(|new| !mistakes.iter().any(|told| new.is_beside(told))).collect();
                mistakes.extend(more);
                mistakes.sort();
                Err(mistakes)
            }
        };
        settled.map_err(|mistakes| {
            if mistakes.len() > 1 {
                for mistake in &mistakes {
                    world.say.note(&mistake.to_string());
                }
            }
            config::mistake::failure(&mistakes)
        })
    }
}
