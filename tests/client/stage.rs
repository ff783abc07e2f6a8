//! What every theme starts from: a sealed world with the real Claude Code on its PATH, one scripted provider for the
//! manager's session and one for the workers, and the plugin as it ships.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};
use support::patience::within;
use support::provider::{Request, Served, Usage};
use support::{Output, Provider, Run, World, claude};

use crate::ability;

/// The key of the manager's own account.
pub(crate) const MANAGER_KEY: &str = "manager-key";
/// A key of a worker, of the shape that is wrong when half of it is pasted.
pub(crate) const WORKER_KEY: &str = "a1b2c3id.s3cr3tpart";
/// The only model of the workers' provider.
pub(crate) const MODEL: &str = "glm-test-1";

/// One sealed stage.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) manager: Provider,
    pub(crate) workers: Provider,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::in_world(World::new())
    }

    pub(crate) fn in_world(mut world: World) -> Self {
        // The client writes the true time into its transcripts: here our programs must live in the same time.
        world.without("MODEL_ORCHESTRATION_NOW");
        // Root may bypass permissions only where the client believes itself in a sandbox.
        world.var("IS_SANDBOX", "1").var("DISABLE_AUTOUPDATER", "1");
        world.link("claude", claude::pinned());
        Self {
            world,
            manager: Provider::setup().keys([MANAGER_KEY]).start(),
            workers: Provider::setup().keys([WORKER_KEY]).models([MODEL]).start(),
        }
    }

    /// A session of the user's own Claude Code: `claude ARGS…`, in print mode for a prompt.
    pub(crate) fn claude(&self) -> Run {
        claude::against(&self.world, &self.manager, MANAGER_KEY)
    }

    /// One print-mode turn of the manager with the plugin loaded for this session only.
    pub(crate) fn session(&self, prompt: &str) -> Run {
        self.claude().arg("--plugin-dir").arg(dist()).args([
            "-p",
            prompt,
            "--output-format",
            "json",
            "--permission-mode",
            "bypassPermissions",
        ])
    }

    /// One print-mode turn of the manager with the plugins that are installed.
    pub(crate) fn installed_session(&self, prompt: &str) -> Run {
        self.claude().args(["-p", prompt, "--output-format", "json"])
    }

    /// Adds the assembled plugin's marketplace and installs the plugin for the user.
    pub(crate) fn install_plugin(&self) {
        self.claude().args(["plugin", "marketplace", "add"]).arg(dist()).run().ok();
        self.claude().args(["plugin", "install", "model-orchestration@model-orchestration"]).run().ok();
    }

    /// Makes a worker the way a user does: create with only the sonnet tier mapped, then the key on standard input.
    #[track_caller]
    pub(crate) fn worker(&self, name: &str, provider: &Provider, key: &str) {
        self.worker_at(name, &provider.url(), key);
    }

    /// The same for any base URL.
    #[track_caller]
    pub(crate) fn worker_at(&self, name: &str, url: &str, key: &str) {
        let create = self.world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["create", name, "--base-url"]);
        create.args([url, "--sonnet", MODEL]).run().ok();
        self.world.command(env!("CARGO_BIN_EXE_mo-key")).arg(name).stdin(format!("{key}\n")).run().ok();
    }

    /// A worker as the earlier shell plugin left it: Claude Code's settings file and nothing else.
    pub(crate) fn shell_worker(&self, name: &str, provider: &Provider, key: &str) {
        let env = json!({
            "ANTHROPIC_AUTH_TOKEN": key,
            "ANTHROPIC_BASE_URL": provider.url(),
            "API_TIMEOUT_MS": "3000000",
            "ANTHROPIC_DEFAULT_SONNET_MODEL": MODEL,
        });
        let file = format!(".claude-workers/{name}/settings.json");
        self.world.write(&file, json!({"env": env}).to_string());
        self.world.set_mode(&file, 0o600);
    }

    /// A stage with the worker `demo` on its provider.
    pub(crate) fn with_demo() -> Self {
        let stage = Self::new();
        stage.worker("demo", &stage.workers, WORKER_KEY);
        stage
    }

    /// A run of one worker: `mo-spawn NAME ARGS…`.
    pub(crate) fn spawn(&self, name: &str) -> Run {
        self.world.command(env!("CARGO_BIN_EXE_mo-spawn")).arg(name)
    }

    /// The dispatch records, oldest first.
    pub(crate) fn records(&self) -> Vec<Value> {
        let files = self.world.files().into_iter().filter(|path| {
            path.starts_with(".claude-workers/.dispatch")
                && path.extension().is_some_and(|end| end == "json")
                && path.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with("d-"))
        });
        files.map(|path| serde_json::from_slice(&self.world.bytes(path)).expect("a record is JSON")).collect()
    }

    /// The only dispatch record.
    #[track_caller]
    pub(crate) fn record(&self) -> Value {
        let mut records = self.records();
        assert_eq!(records.len(), 1, "{records:#?}");
        records.remove(0)
    }

    /// The tokens of what was served, as far as a transcript below home tells of it. Current clients note every call.
    pub(crate) fn accounted(&self, served: &[Served]) -> Usage {
        let transcripts: Vec<String> = self
            .world
            .files()
            .into_iter()
            .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
            .map(|path| String::from_utf8_lossy(&self.world.bytes(path)).into_owned())
            .collect();
        let noted = |one: &&Served| transcripts.iter().any(|text| text.contains(&format!("\"{}\"", one.id)));
        let known: Vec<_> = served.iter().filter(noted).collect();
        ability::can(
            known.len() == served.len(),
            "some calls of the client stand in no transcript: no record counts them",
        );
        known.into_iter().map(|one| one.usage).sum()
    }

    /// Waits until nothing that was started here lives any more.
    #[track_caller]
    pub(crate) fn nothing_is_left(&self) {
        let gone = within(SETTLING, || self.world.processes().is_empty().then_some(()));
        assert!(gone.is_some(), "left behind: {:#?}", self.world.processes());
    }

    /// What the workers' provider was asked; a check's look for a redirect, without a model and a key, is no question.
    pub(crate) fn questions(&self) -> Vec<Request> {
        self.workers.asked().into_iter().filter(|request| request.model.as_deref() != Some("")).collect()
    }

    /// All that the manager's model was given to read until now.
    pub(crate) fn manager_read(&self) -> String {
        self.manager.asked().iter().map(Request::everything).collect::<Vec<_>>().join("\n")
    }
}

/// How long the last children of an ended run may take to be gone: they are asked, given time, and then killed.
const SETTLING: Duration = Duration::from_secs(60);

/// What hooks said in a run with `--output-format stream-json --verbose --include-hook-events`: the event, its exit
/// code, its standard output.
pub(crate) fn hook_responses(output: &Output) -> Vec<(String, i64, String)> {
    let events: Vec<Value> = output.json_lines();
    let responses = events.iter().filter(|event| event["subtype"] == "hook_response");
    responses
        .map(|event| {
            let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
            (text("hook_event"), event["exit_code"].as_i64().unwrap_or(-1), text("stdout"))
        })
        .collect()
}

/// The plugin folder as it ships, assembled once from the programs under test.
pub(crate) fn dist() -> &'static Path {
    static DIST: OnceLock<PathBuf> = OnceLock::new();
    DIST.get_or_init(|| {
        let dist = Path::new(env!("CARGO_TARGET_TMPDIR")).join("client/model-orchestration");
        std::fs::create_dir_all(dist.parent().expect("a parent")).expect("a folder for the plugin");
        let programs = Path::new(env!("CARGO_BIN_EXE_mo-hook")).parent().expect("the folder of the programs");
        let made = Command::new(repository().join("scripts/dist")).arg(programs).arg(&dist).output();
        let made = made.expect("scripts/dist starts");
        assert!(made.status.success(), "scripts/dist: {}", String::from_utf8_lossy(&made.stderr));
        dist
    })
}

/// The first rule as it ships: no other text of the plugin holds this line.
pub(crate) fn first_rule() -> String {
    let rules = std::fs::read_to_string(repository().join("plugin/rules.md")).expect("plugin/rules.md");
    let (_, rules) = rules.split_once("-->").expect("a comment at its head");
    rules.trim_start().lines().next().expect("a rule").to_owned()
}

/// The checkout under test.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
