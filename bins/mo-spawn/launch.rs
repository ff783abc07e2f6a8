//! One launch, prepared: the program, its arguments, its environment, and what is known of the session.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use shared::accounts;
use shared::child_env::{self, ChildEnv};
use shared::claude;
use shared::dispatch_id::{self, DispatchId};
use shared::env;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::roster;
use shared::secret::Secret;
use shared::worker::{Key, Worker};
use shared::worker_key;
use shared::world::World;

use crate::foreign;
use crate::model;
use crate::options::{self, Options};
use crate::redirect;
use crate::sandbox::Network;
use crate::sitting::{Asked, Sitting};

/// Everything that is decided before Claude Code starts.
#[derive(Debug)]
pub struct Launch {
    /// The worker.
    pub worker: Worker,
    /// Claude Code's program.
    pub program: PathBuf,
    /// Its arguments, ours first.
    pub arguments: Vec<OsString>,
    /// Its environment.
    pub env: ChildEnv,
    /// What its arguments ask for.
    pub asked: Asked,
    /// The dispatch; nothing where there is no session to record.
    pub dispatch: Option<DispatchId>,
    /// The session where it is known already.
    pub session: Option<String>,
    /// The title for lists.
    pub title: Option<String>,
    /// Whether what the worker leaves running stays.
    pub keep_background: bool,
    /// Whether it is confined.
    pub sandbox: Option<Network>,
    /// Where it runs; empty where our own directory is gone.
    pub directory: PathBuf,
}

impl Launch {
    /// Decides everything for a run in this directory, and refuses what must not run.
    pub fn prepare(world: &World, options: &Options, directory: &Path) -> Result<Self> {
        refuse_nesting(world, options)?;
        let worker = Worker::load(&world.paths, &options.worker)?;
        accounts::refuse(&world.paths, &worker)?;
        let asked = Asked::of(&options.claude);
        let is_session = asked.sitting != Sitting::None;
        let key = if is_session { worker_key::read(&worker)? } else { stored(&worker) };
        if is_session {
            asked.models.iter().try_for_each(|name| model::check(&worker, name))?;
            model::check_mapped(&worker)?;
        }
        let program = claude::find(world)?;
        let dispatch =
            is_session.then(|| options.id.clone().unwrap_or_else(|| DispatchId::new(world.clock.now())));
        let session = match &asked.sitting {
            Sitting::New => Some(dispatch_id::new_session()),
            Sitting::Decided(session) => session.clone(),
            Sitting::Newest | Sitting::None => None,
        };
        let env = ChildEnv::of(
            &world.env,
            &worker,
            &world.paths,
            &child_env::Launch {
                key: key.as_ref(),
                foreign_keys: &foreign_keys(world, &worker),
                model: model::known(&worker, asked.model.as_deref()),
                dispatch: dispatch.as_ref(),
                retries: options.retries,
                foreign_agents: foreign::is_named(&worker, directory, &options.claude),
            },
        );
        let launch = Self {
            arguments: arguments(&worker, &asked, session.as_deref(), &options.claude),
            title: options.title.clone(),
            keep_background: options.keep_background,
            sandbox: options.sandbox,
            directory: directory.to_owned(),
            worker,
            program,
            env,
            asked,
            dispatch,
            session,
        };
        redirect::refuse(world, &launch)?;
        Ok(launch)
    }
}

/// Prepares a launch in our own directory, and does this with it.
pub fn then(options: &Options, act: fn(&World, &Launch) -> Result<Exit>) -> Result<Exit> {
    let world = World::of_process(options::NAME)?;
    act(&world, &Launch::prepare(&world, options, &world.cwd())?)
}

fn refuse_nesting(world: &World, options: &Options) -> Result<()> {
    if options.nested || child_env::depth(&world.env) == 0 {
        return Ok(());
    }
    let who = world.env.text(env::MO_WORKER).unwrap_or("a worker");
    Err(Error::new(
        Exit::CouldNot,
        format!("this is already inside worker `{who}`: workers start no workers"),
    )
    .hint("let the manager dispatch it, or say --nested before the worker's name if you mean it"))
}

/// A key that is at hand; a sub-command of Claude Code needs none.
fn stored(worker: &Worker) -> Option<Secret> {
    match worker.key() {
        Key::Stored(key) => Some(key),
        _ => None,
    }
}

/// The keys of all workers, for a process that must see none.
pub fn all_keys(world: &World) -> Vec<Secret> {
    let roster = roster::read(&world.paths).unwrap_or_default();
    roster.into_iter().filter_map(|entry| entry.worker.ok()).filter_map(|worker| stored(&worker)).collect()
}

/// The keys of all other workers. One that cannot be read cannot have leaked from there either.
fn foreign_keys(world: &World, worker: &Worker) -> Vec<Secret> {
    let roster = roster::read(&world.paths).unwrap_or_default();
    let others =
        roster.into_iter().filter_map(|entry| entry.worker.ok()).filter(|other| other.name != worker.name);
    others.filter_map(|other| stored(&other)).collect()
}

/// The session's id stands first, and a model where the caller named none.
fn arguments(worker: &Worker, asked: &Asked, session: Option<&str>, given: &[OsString]) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::with_capacity(given.len() + 4);
    if let (Sitting::New, Some(session)) = (&asked.sitting, session) {
        arguments.extend(["--session-id".into(), session.into()]);
    }
    if let (None, Some(tier)) = (&asked.model, worker.profile.default_tier)
        && asked.sitting != Sitting::None
    {
        arguments.extend(["--model".into(), tier.name().into()]);
    }
    arguments.extend_from_slice(given);
    arguments
}
