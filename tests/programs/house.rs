//! A whole installation in a world: our programs in one folder, Claude Code, the plugin, a worker; and its doctor.

use std::fs;
use std::path::PathBuf;

use shared::sibling::PROGRAMS;
use support::{Output, Run, World};

use crate::staff::{KEY, create, file, mo_key};

/// Everything that we ask of Claude Code's help.
pub const HELP: &str = "--session-id --plugin-dir --settings --effort --include-hook-events plugin";

/// All programs in one folder of the world, as an installation has them, and a Claude Code that answers questions.
pub struct House {
    /// The world.
    pub world: World,
    /// The folder of the programs.
    pub folder: PathBuf,
}

impl House {
    pub fn new() -> Self {
        Self::of(World::new())
    }

    fn of(mut world: World) -> Self {
        let folder = world.path("bin");
        fs::create_dir_all(&folder).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_mo-worker"), folder.join("mo-worker")).unwrap();
        for name in PROGRAMS.iter().filter(|name| **name != "mo-worker") {
            let fake = world.fake(name, &format!("echo {name} {}", env!("CARGO_PKG_VERSION")));
            fs::rename(fake, folder.join(name)).unwrap();
        }
        world.bin_of(folder.join("mo-worker"));
        claude(&world, include_str!("../claude-version").trim(), HELP);
        Self { world, folder }
    }

    /// With one worker that is live, and the plugin installed and on: nothing to complain of.
    pub fn healthy() -> Self {
        let house = Self::new();
        let world = &house.world;
        create(world, "glm");
        mo_key(world, &["glm"], KEY).run().ok();
        let profile = world.read(file("glm", "worker.json"));
        let checked = r#""last_check": {"at": "2026-11-30T01:02:03.000Z", "claude_version": "2.1.332",
            "base_url": "https://api.z.ai/api/anthropic", "tiers": {
                "opus": {"ok": true, "kind": "ok", "model": "glm-5.2", "ms": 7},
                "sonnet": {"ok": true, "kind": "ok", "model": "glm-5.2", "ms": 7},
                "haiku": {"ok": true, "kind": "ok", "model": "glm-4.7", "ms": 7}}}"#;
        assert!(profile.contains("\"last_check\": null"));
        world.write(file("glm", "worker.json"), profile.replace("\"last_check\": null", checked));
        house.plugin(env!("CARGO_PKG_VERSION"), "exec mo-hook");
        house.doctor(&["--fix"]).run().ok();
        house
    }

    pub fn plugin(&self, version: &str, hooks: &str) {
        let world = &self.world;
        world.write(".claude/settings.json", r#"{"enabledPlugins": {"model-orchestration@here": true}}"#);
        world.write("plugin/hooks/hooks.json", hooks);
        let book = serde_json::json!({"version": 2, "plugins": {"model-orchestration@here":
            [{"scope": "user", "installPath": world.path("plugin"), "version": version}]}});
        world.write(".claude/plugins/installed_plugins.json", book.to_string());
    }

    pub fn doctor(&self, words: &[&str]) -> Run {
        self.world.command(self.folder.join("mo-worker")).arg("doctor").args(words.iter().copied())
    }

    /// Doctor finds exactly this wrong, and nothing else.
    #[track_caller]
    pub fn complains(&self, code: i32, what: &[&str]) -> Output {
        let output = self.doctor(&[]).run().code(code).stderr_is("").stdout_lacks(KEY);
        let complaints: Vec<String> =
            output.text().lines().filter(|line| !line.starts_with("ok")).map(String::from).collect();
        let complaints: Vec<_> = complaints.iter().filter(|line| !line.starts_with("      ")).collect();
        assert_eq!(complaints.len(), what.len(), "{}", output.whole());
        for part in what {
            assert!(complaints.iter().any(|line| line.contains(part)), "{part:?} in {}", output.whole());
        }
        output
    }

    /// `--fix` mends what doctor complains of, and then all is well.
    #[track_caller]
    pub fn mends(&self, what: &str) {
        self.doctor(&["--fix"]).run().ok().stdout_has(&format!("mended: {what}"));
        self.complains(0, &[]);
    }
}

/// Puts another Claude Code in its place.
pub fn claude(world: &World, version: &str, help: &str) {
    world.fake(
        "claude",
        &format!("case $1 in --version) echo '{version} (Claude Code)';; *) echo '{help}';; esac"),
    );
}
