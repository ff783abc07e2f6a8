//! A worker that is a Claude account: its directory is Claude Code's own, and nothing of ours is written there.

use std::fs;
use std::path::{Path, PathBuf};

use shared::args::Matches;
use shared::base_url::BaseUrl;
use shared::clock::rfc3339;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::lock::{self, Lock};
use shared::name::Name;
use shared::tier::Tier;
use shared::worker::{Kind, Profile, Worker};
use shared::world::World;
use shared::{accounts, file, login, paths, roster, settings};

use crate::{create, plan};

/// Flags that say something of a provider, or of an account.
const PROVIDERS: [&str; 8] =
    ["preset", "fable", "opus", "sonnet", "haiku", "default-tier", "context-window", "auth"];
const ACCOUNTS: [&str; 2] = ["config-dir", "tier"];

/// Refuses flags that only an account knows.
pub fn refuse_flags(matches: &Matches) -> Result<()> {
    refuse(matches, &ACCOUNTS, "is for accounts", "say --account as well, or leave it out")
}

fn refuse(matches: &Matches, flags: &[&str], why: &str, hint: &str) -> Result<()> {
    match flags.iter().find(|flag| matches.value(flag).is_some()) {
        Some(flag) => Err(Error::new(Exit::Usage, format!("--{flag} {why}")).hint(hint)),
        None => Ok(()),
    }
}

/// Makes the worker.
pub fn create(world: &World, name: &Name, matches: &Matches) -> Result<Exit> {
    let hint = "an account has Anthropic's own models; --tier names the one it works at";
    refuse(matches, &PROVIDERS, "is for providers", hint)?;
    let tier = matches.value("tier").map(Tier::parse).transpose()?;
    let base_url = matches.value("base-url").map(local).transpose()?;
    let directory = match matches.value("config-dir") {
        Some(given) => world.cwd().join(given),
        None => world.paths.home()?.join(format!(".claude-{name}")),
    };
    let account = Account { directory, tier, base_url, max_parallel: plan::max_parallel(matches)? };
    file::create_private_dir(world.paths.root()?)?;
    let _lock = Lock::acquire(&world.paths.workers_lock()?, lock::PATIENCE)?;
    let directory = account.make(world, name)?;
    tell(world, name, &directory)?;
    create::link(world)?;
    Ok(Exit::Done)
}

/// An account's traffic may go by way of a gateway on this machine, and no other way.
fn local(given: &str) -> Result<BaseUrl> {
    let url = BaseUrl::parse(given)?.url;
    if url.is_loopback() || url.is_anthropic() {
        return Ok(url);
    }
    Err(Error::new(Exit::Usage, "--base-url: an account's login is sent to Anthropic only")
        .hint("name a gateway on this machine, or leave it out"))
}

/// What an account is to be.
#[derive(Debug)]
pub struct Account {
    /// Claude Code's configuration directory.
    pub directory: PathBuf,
    /// The tier where nobody names one.
    pub tier: Option<Tier>,
    /// A gateway on this machine.
    pub base_url: Option<BaseUrl>,
    /// The most at once.
    pub max_parallel: Option<u32>,
}

impl Account {
    /// Makes the worker, under the workers' lock; its directory as it was found or made.
    pub fn make(&self, world: &World, name: &Name) -> Result<PathBuf> {
        let directory = settled(world, &self.directory)?;
        if let Some(owner) = owner(world, &directory)? {
            return Err(Error::new(Exit::Usage, format!("worker `{owner}` is that account already:"))
                .at(&directory)
                .hint("two workers of one account would share its limits without knowing"));
        }
        let is_new = !directory.exists();
        let profile = Profile {
            version: 1,
            name: name.to_string(),
            kind: Kind::Account,
            config_dir: Some(directory.clone()),
            made_config_dir: is_new && !is_default(world, &directory),
            default_tier: self.tier,
            flat_plan: true,
            max_parallel: self.max_parallel,
            created: Some(rfc3339(world.clock.now())),
            ..Profile::default()
        };
        let url = self.base_url.as_ref().map(|url| (settings::BASE_URL, url.as_str()));
        create::build(world, name, &url.into_iter().collect::<Vec<_>>(), &profile)?;
        if is_new {
            file::create_private_dir(&directory)?;
        }
        Ok(directory)
    }
}

/// The directory as Claude Code will be told of it: without links, and the default one by its usual name.
fn settled(world: &World, given: &Path) -> Result<PathBuf> {
    let usual = world.paths.home()?.join(".claude");
    let directory = real(given);
    if directory == real(&usual) {
        return Ok(usual);
    }
    if directory.exists() && !directory.is_dir() {
        return Err(Error::new(Exit::Usage, "an account needs a directory, and this is none:").at(&directory));
    }
    file::refuse_foreign(&directory)?;
    if directory.starts_with(real(world.paths.root()?)) {
        return Err(Error::new(Exit::Usage, "the workers' own directory holds no account:")
            .at(&directory)
            .hint("without --config-dir the account lies in ~/.claude-NAME"));
    }
    Ok(directory)
}

/// The worker that has this directory already.
pub fn owner(world: &World, directory: &Path) -> Result<Option<String>> {
    owned(world, directory).map(|names| names.into_iter().next())
}

/// How many workers have it.
pub fn owners(world: &World, directory: &Path) -> Result<usize> {
    owned(world, directory).map(|names| names.len())
}

fn owned(world: &World, directory: &Path) -> Result<Vec<String>> {
    let wanted = real(directory);
    let owns = |worker: &Worker| worker.profile.config_dir.as_deref().is_some_and(|own| real(own) == wanted);
    let roster = roster::read(&world.paths)?.into_iter();
    Ok(roster.filter(|entry| entry.worker.as_ref().is_ok_and(owns)).map(|entry| entry.name).collect())
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn is_default(world: &World, directory: &Path) -> bool {
    world.paths.home().is_ok_and(|home| directory == home.join(".claude"))
}

/// Whether the directory seems to hold a login.
pub fn holds_login(world: &World, directory: &Path) -> bool {
    login::is_held(directory, &login::state_file(directory, is_default(world, directory)))
}

fn tell(world: &World, name: &Name, directory: &Path) -> Result<()> {
    let say = world.say;
    say.note(&format!("made worker `{name}`, the account in {}", paths::shown(directory, &world.paths)));
    say.aside("next:\n");
    let worker = Worker::load(&world.paths, name)?;
    if !accounts::is_allowed(&world.paths, &worker)? {
        say.aside("  mo-worker accounts on   (several accounts are off)\n");
    }
    if !holds_login(world, directory) {
        say.aside(&format!("  mo-worker login {name}\n"));
    }
    say.aside(&format!("  mo-worker check {name}\n"));
    Ok(())
}
