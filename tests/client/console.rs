//! Every console block that a user or a model reads is run as it stands: README, commands, agent and skill.

use std::fs;

use serde_json::{Value, json};
use support::{Output, Provider};

use crate::stage::{Stage, repository};

/// The key that the texts show, and those of the README and of a local server.
const KEYS: [&str; 3] = ["0123456789abcdef.fedcba9876543210", "id-of-a-key.and-its-secret", "ollama"];
/// An endpoint that the texts show and that nobody answers at.
const EXAMPLE: &str = "https://llm.example.com";

/// One command of a block and the output that stands below it.
struct Step {
    command: String,
    output: Vec<String>,
}

/// The commands of all console blocks of a text.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in text.split("```console\n").skip(1).filter_map(|rest| rest.split("\n```").next()) {
        let mut here: Option<String> = None;
        for line in block.lines() {
            if let Some(end) = &here {
                let ended = line == end;
                let step = steps.last_mut().expect("a here-document has a command");
                step.command.push_str(&format!("\n{line}"));
                if ended {
                    here = None;
                }
            } else if let Some(command) = line.strip_prefix("$ ") {
                here =
                    command.split("<<'").nth(1).and_then(|rest| rest.split('\'').next()).map(str::to_owned);
                steps.push(Step { command: command.to_owned(), output: Vec::new() });
            } else {
                steps.last_mut().expect("output follows a command").output.push(line.to_owned());
            }
        }
    }
    steps
}

/// A stage where the providers that the texts name are scripted ones.
struct Reader {
    stage: Stage,
    cloud: Provider,
    /// Kept alive: the local server.
    _local: Provider,
    session: String,
}

impl Reader {
    fn new(with_scripted_presets: bool) -> Self {
        let mut stage = Stage::new();
        stage.world.bin_of(env!("CARGO_BIN_EXE_mo-spawn"));
        let cloud = Provider::setup().keys(KEYS).start();
        let local = Provider::setup().keys(KEYS).ollama("0.15.0", vec!["qwen3-coder:30b".to_owned()]).start();
        if with_scripted_presets {
            let zai = json!({"base_url": cloud.url(), "tiers": {"opus": "big", "sonnet": "middle", "haiku": "small"}});
            let ollama = json!({"base_url": local.url(), "placeholder_key": "ollama"});
            let presets = json!({"version": 1, "presets": {"zai": zai, "ollama": ollama}});
            stage.world.write(".claude-workers/presets.json", presets.to_string());
        }
        Self { stage, cloud, _local: local, session: String::new() }
    }

    fn shell(&self, command: &str) -> Output {
        self.stage.world.command("/bin/sh").args(["-c", command]).run()
    }

    /// What the user does in a terminal of their own between the blocks.
    fn store_key(&self) {
        self.shell(&format!("echo {} | mo-key glm", KEYS[0])).ok();
    }

    fn read(&mut self, document: &str) {
        let text = fs::read_to_string(repository().join(document)).expect("the document is there");
        let steps = steps(&text);
        assert!(!steps.is_empty(), "{document} has no console block");
        if !steps.iter().any(|step| step.command.starts_with("mo-worker create glm")) {
            self.shell("mo-worker create glm --preset zai").ok();
            self.store_key();
        }
        for step in steps {
            let command =
                step.command.replace("SESSION_ID", &self.session).replace(EXAMPLE, &self.cloud.url());
            let output = self.shell(&command).ok();
            if let Some(session) = session_of(&output) {
                self.session = session;
            }
            if !step.output.is_empty() {
                assert_eq!(output.text().lines().collect::<Vec<_>>(), step.output, "{document}: $ {command}");
            }
            if command.starts_with("mo-worker create glm") && !text.contains("| mo-key glm") {
                self.store_key();
            }
        }
    }
}

/// The session that Claude Code's result names.
fn session_of(output: &Output) -> Option<String> {
    let result: Value = serde_json::from_str(output.text().lines().last()?).ok()?;
    result["session_id"].as_str().map(str::to_owned)
}

#[test]
fn the_readmes_console_block_runs_as_it_stands() {
    Reader::new(false).read("README.md");
}

#[test]
fn every_console_block_of_the_plugin_runs_as_it_stands() {
    let folders = ["plugin/commands", "plugin/agents", "plugin/skills/orchestrating-model-workers"];
    let files = folders.iter().flat_map(|folder| {
        let entries = fs::read_dir(repository().join(folder)).expect("a folder of the plugin");
        entries.flatten().map(move |entry| format!("{folder}/{}", entry.file_name().to_string_lossy()))
    });
    let mut read = 0;
    for document in files.filter(|name| std::path::Path::new(name).extension().is_some_and(|end| end == "md"))
    {
        Reader::new(true).read(&document);
        read += 1;
    }
    assert_eq!(read, 5, "three commands, an agent and a skill");
}
