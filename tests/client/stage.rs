//! What every theme starts from: a sealed world with the real Claude Code on its PATH, one scripted provider for the
//! manager's session and one for the workers, and the plugin as it ships.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use support::{Output, Provider, Run, World, claude};

/// The key of the manager's own account.
pub(crate) const MANAGER_KEY: &str = "manager-key";

/// One sealed stage.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) manager: Provider,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::in_world(World::new())
    }

    pub(crate) fn in_world(mut world: World) -> Self {
        // The client writes the true time into its transcripts: here our programs must live in the same time.
        world.without("MODEL_ORCHESTRATION_NOW");
        world.link("claude", claude::pinned());
        Self { world, manager: Provider::setup().keys([MANAGER_KEY]).start() }
    }

    /// A session of the user's own Claude Code: `claude ARGS…`, in print mode for a prompt.
    pub(crate) fn claude(&self) -> Run {
        claude::against(&self.world, &self.manager, MANAGER_KEY)
    }
}

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

/// The checkout under test.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
