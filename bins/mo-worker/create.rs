//! Makes a worker: built beside the others under a name nobody looks at, then renamed into its place.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use shared::args::Matches;
use shared::bin_link;
use shared::catalogue::Catalogue;
use shared::clock::rfc3339;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file::{self, Durability, PRIVATE, PRIVATE_DIR};
use shared::lock::{self, Lock};
use shared::name::Name;
use shared::paths;
use shared::settings;
use shared::tier::Tier;
use shared::worker::{Kind, Profile, SETTINGS};
use shared::world::World;

use crate::plan::Plan;
use crate::{account, shim, taken};

/// As long as Claude Code waits for an answer, in milliseconds: local models think slowly.
const TIMEOUT: &str = "3000000";

/// Makes the worker.
pub fn run(world: &World, name: &Name, matches: &Matches) -> Result<Exit> {
    if matches.has("account") {
        return account::create(world, name, matches);
    }
    account::refuse_flags(matches)?;
    let (catalogue, trouble) = Catalogue::load(world);
    let plan = Plan::of(&catalogue, matches)?;
    if let Some(trouble) = trouble {
        world.say.error(&trouble);
    }
    let place = world.paths.worker(name.as_str())?;
    file::create_private_dir(world.paths.root()?)?;
    let _lock = Lock::acquire(&world.paths.workers_lock()?, lock::PATIENCE)?;
    build(world, name, &variables(&plan), &profile(world, name, &plan))?;
    tell(world, name, &plan, &place);
    link(world)?;
    Ok(Exit::Done)
}

/// Lets the `run` files find the programs.
pub fn link(world: &World) -> Result<()> {
    // The worker is made: only its `run` file has to wait for the link.
    if let Err(error) = bin_link::keep(world) {
        let next = format!(
            "move {} away; the next program of ours puts the link there",
            world.paths.bin()?.display()
        );
        world.say.error(&if error.what_next().is_some() { error } else { error.hint(next) });
    }
    Ok(())
}

/// Puts the worker in its place, under the workers' lock.
pub fn build(world: &World, name: &Name, variables: &[(&str, &str)], profile: &Profile) -> Result<()> {
    let root = world.paths.root()?;
    let place = &world.paths.worker(name.as_str())?;
    taken::refuse(name, place)?;
    let failed = |error: std::io::Error| Error::io("cannot create", place, &error);
    let new = tempfile::Builder::new()
        .prefix(".new-")
        .permissions(Permissions::from_mode(PRIVATE_DIR))
        .tempdir_in(root)
        .map_err(failed)?;
    let text = settings::new_file(variables)?;
    file::replace(&new.path().join(SETTINGS), text.as_bytes(), PRIVATE, Durability::Synced)?;
    profile.write(new.path())?;
    shim::write(new.path(), name)?;
    fs::rename(new.path(), place).map_err(failed)?;
    // It has moved: there is nothing left to clean up.
    let _ = new.keep();
    Ok(())
}

/// Claude Code's own settings: every tier has a model, so that no name of Anthropic's can reach the provider.
fn variables(plan: &Plan) -> Vec<(&str, &str)> {
    let key = plan.placeholder_key.as_deref().unwrap_or(settings::PLACEHOLDER);
    let mut variables = vec![(plan.auth.variable(), key), (settings::BASE_URL, plan.base_url.as_str())];
    if !plan.env.contains_key(settings::API_TIMEOUT) {
        variables.push((settings::API_TIMEOUT, TIMEOUT));
    }
    variables.extend(plan.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let default = plan.tiers.get(&plan.default_tier);
    for tier in Tier::ALL {
        let mapped = plan.tiers.get(&tier).or(default);
        variables.extend(mapped.map(|mapped| (tier.variable(), mapped.model.as_str())));
    }
    variables
}

fn profile(world: &World, name: &Name, plan: &Plan) -> Profile {
    Profile {
        version: 1,
        name: name.to_string(),
        kind: Kind::Provider,
        preset: plan.preset.clone(),
        auth: plan.auth,
        default_tier: Some(plan.default_tier),
        tiers: plan.tiers.clone(),
        env: plan.env.clone(),
        flat_plan: plan.flat_plan,
        max_parallel: plan.max_parallel,
        created: Some(rfc3339(world.clock.now())),
        ..Profile::default()
    }
}

fn tell(world: &World, name: &Name, plan: &Plan, place: &Path) {
    let say = world.say;
    if let Some(remark) = &plan.remark {
        say.note(remark);
    }
    if !plan.base_url.is_https() && !plan.base_url.is_loopback() {
        say.note("warning: this URL is plain http: whoever is on the way can read the key and the work");
    }
    say.note(&format!("made worker `{name}` in {}", paths::shown(place, &world.paths)));
    let mut steps = Vec::new();
    if plan.placeholder_key.is_none() {
        let from = plan.key_url.as_deref().map(|url| format!("   (get one at {url})")).unwrap_or_default();
        steps.push(format!("mo-key {name}{from}"));
    }
    steps.push(format!("mo-worker check {name}"));
    say.aside("next:\n");
    for step in steps {
        say.aside(&format!("  {step}\n"));
    }
}
