//! `mo-proxy exec -- claude …`: Claude Code through the gateway, for this session only. A gateway of the user's own is
//! used, or started; whatever else listens there gets nothing.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, json};
use shared::args::{Flag, Matches};
use shared::claude;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file;
use shared::flatten::flatten;
use shared::no_proxy;
use shared::role;
use shared::sibling;
use shared::world::World;

use super::found::Found;
use super::project;
use crate::agents::{self, Loaded, named, register};
use crate::route::Routes;

/// The flags.
pub const FLAGS: &[Flag] = &[
    Flag {
        long: "keep-key",
        value: "",
        about: "leave ANTHROPIC_API_KEY and the like to the session: you pay by key",
    },
    Flag { long: "no-agents", value: "", about: "load no role agents into the session" },
];

/// How long a gateway may take to start.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pauses between looks.
const PAUSE: Duration = Duration::from_millis(5);
/// The exit code of a gateway that cannot listen where it should.
const TAKEN: i32 = 74;
/// That of one that found another.
const RUNS_ALREADY: i32 = 75;

const BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// The flag for settings that come before a project's.
const SETTINGS: &str = "--settings";
const HEADERS: &str = "ANTHROPIC_CUSTOM_HEADERS";
/// With another base URL the client would load all tools at once.
const TOOL_SEARCH: &str = "ENABLE_TOOL_SEARCH";
/// Keys that would take the place of the subscription's login.
const KEYS: [&str; 2] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];
/// What would lead past the gateway, or overrule the models that agents name.
const ELSEWHERE: [&str; 2] = ["CLAUDE_CODE_USE_", "CLAUDE_CODE_SUBAGENT_MODEL"];

/// Becomes the client; returns only when that fails.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let (client, arguments) = matches
        .operands()
        .split_first()
        .ok_or_else(|| Error::new(Exit::Usage, "what is to run?").hint("mo-proxy exec -- claude"))?;
    let program = program(world, client)?;
    project::refuse(world, arguments)?;
    let (_, routes) = Routes::load(world)?;
    let found = running(world)?;
    if found.announced.address.starts_with("unix:") {
        return Err(Error::new(Exit::Config, "Claude Code reaches no unix socket")
            .hint("let the gateway listen on a port: \"listen\" in .proxy/config.json"));
    }
    let mut command = Command::new(&program);
    command.args(agents(world, matches, &routes, arguments)?);
    let gateway = format!("http://{}", found.announced.address);
    if program.file_name() == Some(OsStr::new("claude")) && !brings(arguments, SETTINGS) {
        command.arg(SETTINGS).arg(held(world, &gateway));
    }
    command.args(arguments);
    dress(world, matches, &found, &gateway, &mut command);
    count();
    let error = command.exec();
    Err(claude::cannot_run(&program, &error))
}

/// Counts what earlier sessions' agents did: no hook sees them end, and this session's start line is about it.
fn count() {
    let Some(ledger) = sibling::find("mo-ledger") else { return };
    let mut update = Command::new(ledger);
    update.args(["update", "--brief", "--quiet"]);
    // Where it could not, the next one catches up.
    let _ = update.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

fn program(world: &World, client: &OsString) -> Result<PathBuf> {
    if client == "claude" {
        return claude::find(world);
    }
    if Path::new(client).is_absolute() {
        return Ok(PathBuf::from(client));
    }
    Err(Error::new(Exit::Usage, format!("`{}` is not claude", flatten(&client.to_string_lossy(), 60)))
        .hint("mo-proxy exec -- claude [arguments…], or the absolute path of another client"))
}

/// The way to the gateway as settings, which no file of a project overrules: one that is written after we looked, or
/// that we did not know of, leads nowhere else. Nothing in them is secret, an argument can be seen by everybody.
fn held(world: &World, gateway: &str) -> String {
    let mut env = Map::from_iter([(BASE_URL.to_owned(), gateway.into())]);
    env.extend(no_proxy::past_any(&world.env).map(|(name, list)| (name.to_owned(), list.into())));
    json!({"env": env}).to_string()
}

/// Whether the caller says this flag.
fn brings(arguments: &[OsString], flag: &str) -> bool {
    arguments.iter().any(|word| word.to_string_lossy().split('=').next() == Some(flag))
}

/// The variables of the session.
fn dress(world: &World, matches: &Matches, found: &Found, gateway: &str, command: &mut Command) {
    for (name, _) in world.env.iter() {
        let text = name.to_string_lossy();
        let is_key = KEYS.iter().any(|key| text == *key);
        let elsewhere = ELSEWHERE.iter().any(|start| text.starts_with(start));
        if elsewhere || (is_key && !matches.has("keep-key")) {
            command.env_remove(name);
        }
    }
    let own = format!("x-mo-token: {}", found.token.reveal());
    let headers = match world.env.text(HEADERS).filter(|given| !given.trim().is_empty()) {
        Some(given) => format!("{}\n{own}", given.trim_end()),
        None => own,
    };
    command
        .env(BASE_URL, gateway)
        .env(HEADERS, headers)
        .env(TOOL_SEARCH, "true")
        .envs(no_proxy::for_loopback(&world.env));
}

/// The roles of this project and the user as agents, unless the caller brings agents. The gateway learns which model
/// each agent of the session names, so that it can tell when the client asks for another.
fn agents(
    world: &World,
    matches: &Matches,
    routes: &Routes,
    arguments: &[OsString],
) -> Result<Vec<OsString>> {
    let mut loaded = Loaded::default();
    if !brings(arguments, "--agents") && !matches.has("no-agents") {
        let (roles, troubles) = role::all(&world.paths, &world.cwd())?;
        for trouble in &troubles {
            world.say.error(trouble);
        }
        loaded = agents::load(&roles, routes);
    }
    for note in &loaded.notes {
        world.say.note(note);
    }
    let mut all = named::all(&world.paths.claude_config()?, &world.cwd());
    all.extend(loaded.named);
    // A session is worth more than what could be told of it.
    if let Err(error) = register::add(&world.paths, all) {
        world.say.error(&error);
    }
    Ok(loaded.argument.map(|argument| vec!["--agents".into(), argument.into()]).unwrap_or_default())
}

/// The gateway that runs, or a new one.
fn running(world: &World) -> Result<Found> {
    if let Some(found) = Found::look(world)? {
        return Ok(found);
    }
    let log = log(world)?;
    let mut child = start(&log, &[])?;
    let begin = Instant::now();
    let mut elsewhere = false;
    loop {
        // Half announced, half started: it is looked for again.
        if let Ok(Some(found)) = Found::look(world) {
            return Ok(found);
        }
        match child.try_wait().ok().flatten().map(|status| status.code()) {
            Some(Some(TAKEN)) if !elsewhere => {
                world.say.note("the gateway's port is taken by another program; it listens on a free one");
                child = start(&log, &["--port", "0"])?;
                elsewhere = true;
            }
            None | Some(Some(RUNS_ALREADY)) => {}
            Some(_) => return Err(failed(&log)),
        }
        if begin.elapsed() > PATIENCE {
            return Err(failed(&log));
        }
        thread::sleep(PAUSE);
    }
}

fn log(world: &World) -> Result<PathBuf> {
    let folder = world.paths.log()?;
    file::create_private_dir(&folder)?;
    Ok(folder.join("mo-proxy.log"))
}

/// Starts one that outlives this session, in a group of its own.
fn start(log: &Path, flags: &[&str]) -> Result<Child> {
    let own = sibling::own()?;
    let open = |append: bool| -> std::io::Result<File> {
        OpenOptions::new().create(true).append(append).write(true).truncate(!append).mode(0o600).open(log)
    };
    let out = open(false).and_then(|_| open(true)).map_err(|error| Error::io("cannot write", log, &error))?;
    Command::new(&own)
        .arg("serve")
        .args(flags)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::from(out))
        .process_group(0)
        .spawn()
        .map_err(|error| Error::io("cannot run", &own, &error))
}

fn failed(log: &Path) -> Error {
    let said = fs::read_to_string(log).unwrap_or_default();
    let last = said.lines().rev().find(|line| !line.starts_with("hint:")).unwrap_or("it said nothing");
    Error::new(Exit::Unavailable, "the gateway does not start")
        .caused_by(flatten(last, 300))
        .hint(format!("its words are in {}; `mo-proxy serve` shows them", log.display()))
}
