//! The gateway that runs, proved to be the user's own: whatever else listens at its address gets no token and no
//! login.

use serde::Deserialize;
use shared::document;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::process;
use shared::world::World;
use uuid::Uuid;

use super::call;
use crate::serve::Announced;
use crate::token::Token;

/// A gateway that runs.
#[derive(Debug)]
pub struct Found {
    /// What it says of itself.
    pub announced: Announced,
    /// The token that it proved to hold.
    pub token: Token,
}

#[derive(Deserialize)]
struct Proof {
    proof: String,
}

impl Found {
    /// Looks for it; nothing where none runs, an error where something else stands in its place.
    pub fn look(world: &World) -> Result<Option<Self>> {
        let folder = world.paths.proxy()?;
        let Some(announced) = document::read::<Announced>(&folder.join("instance.json"))? else {
            return Ok(None);
        };
        if !process::is(announced.pid, announced.start_time.as_deref()) {
            return Ok(None);
        }
        let Some(token) = Token::load(&folder.join("token"))? else { return Ok(None) };
        let challenge = Uuid::new_v4().simple().to_string();
        let path = format!("/mo/proof?challenge={challenge}");
        let answer = call::get(&announced.address, &path, None).map_err(|error| {
            Error::new(Exit::Unavailable, format!("the gateway at {} does not answer", announced.address))
                .because(&error)
                .hint("`mo-proxy stop` ends it")
        })?;
        let proof: Option<Proof> = serde_json::from_slice(&answer.body).ok();
        let expected = token.proof(&announced.address, &challenge);
        if proof.is_some_and(|proof| proof.proof == expected) {
            return Ok(Some(Self { announced, token }));
        }
        Err(Error::new(Exit::Config, format!("what listens at {} is no gateway of yours", announced.address))
            .hint("nothing was sent to it; `mo-proxy serve --port 0` listens elsewhere"))
    }

    /// The one that runs, or what to do about there being none.
    pub fn running(world: &World) -> Result<Self> {
        Self::look(world)?.ok_or_else(|| {
            Error::new(Exit::CouldNot, "no gateway of yours runs")
                .hint("`mo-proxy exec -- claude` starts one, so does `mo-proxy serve`")
        })
    }

    /// Asks it for a document that only who holds the token may see.
    pub fn ask(&self, path: &str) -> Result<serde_json::Value> {
        let failed = |why: String| {
            Error::new(
                Exit::Unavailable,
                format!("the gateway at {} does not answer", self.announced.address),
            )
            .caused_by(why)
        };
        let token = self.token.reveal();
        let answer = call::get(&self.announced.address, path, Some(token))
            .map_err(|error| failed(error.to_string()))?;
        if answer.status != 200 {
            return Err(failed(format!("status {}", answer.status)));
        }
        serde_json::from_slice(&answer.body).map_err(|error| failed(error.to_string()))
    }
}
