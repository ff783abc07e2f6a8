//! Every console block that a user or a model reads is run as it stands: README, commands, agent and skill. And a real
//! manager's session that is given one of the commands does what it says.

use std::fs;

use serde_json::json;
use support::{Output, Provider};

use crate::stage::{Stage, WORKER_KEY, repository};

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

/// A new dispatch stands in these places; the texts call it so.
const DISPATCH: &str = "DISPATCH_ID";

/// A stage where the providers that the texts name are scripted ones.
struct Reader {
    stage: Stage,
    cloud: Provider,
    /// Kept alive: the local server.
    _local: Provider,
    dispatch: String,
}

impl Reader {
    fn new(with_scripted_presets: bool) -> Self {
        let mut stage = Stage::new();
        stage.world.bin_of(env!("CARGO_BIN_EXE_mo-spawn"));
        project(&stage);
        let cloud = Provider::setup().keys(KEYS).start();
        let local = Provider::setup().keys(KEYS).ollama("0.15.0", vec!["qwen3-coder:30b".to_owned()]).start();
        if with_scripted_presets {
            let zai = json!({"base_url": cloud.url(), "tiers": {"opus": "big", "sonnet": "middle", "haiku": "small"}});
            let ollama = json!({"base_url": local.url(), "placeholder_key": "ollama"});
            let presets = json!({"version": 1, "presets": {"zai": zai, "ollama": ollama}});
            stage.world.write(".claude-workers/presets.json", presets.to_string());
        }
        Self { stage, cloud, _local: local, dispatch: String::new() }
    }

    fn shell(&self, command: &str) -> Output {
        self.stage.world.command("/bin/sh").args(["-c", command]).cwd(self.stage.world.path(PROJECT)).run()
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
            let command = step.command.replace(DISPATCH, &self.dispatch).replace(EXAMPLE, &self.cloud.url());
            let output = self.shell(&command).ok();
            if let Some(dispatch) = dispatch_of(&output) {
                self.dispatch = dispatch;
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

/// The dispatch that was printed: alone, or in a document.
fn dispatch_of(output: &Output) -> Option<String> {
    let text = output.text();
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    words.into_iter().find(|word| word.len() == 28 && word.starts_with("d-")).map(str::to_owned)
}

/// Where the texts are followed, below home: a clean repository that says which licence it has.
const PROJECT: &str = "project";

fn project(stage: &Stage) {
    let world = &stage.world;
    world.write(".gitconfig", "[user]\nname = A\nemail = a@example.com\n[init]\ndefaultBranch = main\n");
    world.write(format!("{PROJECT}/README.md"), "MIT\n");
    for words in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "first"]] {
        let git = world.command("/usr/bin/env").arg("git").args(words.iter().copied());
        git.cwd(world.path(PROJECT)).run().ok();
    }
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
    assert_eq!(read, 9, "seven commands, an agent and a skill");
}

/// The commands that dispatch.
const DISPATCHING: [&str; 5] = ["delegate", "best-of-n", "orchestrate", "build-feature", "deep-reason"];

#[test]
fn a_manager_that_is_given_a_command_reads_it_and_does_what_it_says() {
    for name in DISPATCHING {
        let stage = Stage::new();
        stage.worker("glm", &stage.workers, WORKER_KEY);
        project(&stage);
        let text =
            fs::read_to_string(repository().join(format!("plugin/commands/{name}.md"))).expect("a command");
        let (head, _) = text.split_once("$ARGUMENTS").expect("it takes arguments");
        let first = head.lines().last().expect("a line");
        let script: Vec<String> = steps(&text).iter().map(|step| followed(&step.command)).collect();
        let prompt = format!(
            "/model-orchestration:{name} glm name the licence\n{}\n#say all done\nThat is all.",
            script.join("\n")
        );
        let output = stage.session(&prompt).cwd(stage.world.path(PROJECT)).run().ok();
        let said: serde_json::Value = output.json();
        assert_eq!(said["result"], "all done", "{name}: {}", output.whole());
        let read = stage.manager_read();
        assert!(
            read.contains(&format!("{first}glm name the licence")),
            "{name}: the model did not get the text"
        );
        assert!(!read.contains("step failed"), "{name}: {read}");
        let records = stage.records();
        assert!(!records.is_empty(), "{name} dispatched nothing");
        for record in &records {
            assert_eq!(record["manager_session"], said["session_id"], "{name}");
            assert!(
                ["done", "cancelled"].contains(&record["status"].as_str().unwrap_or_default()),
                "{name}: {record:#}"
            );
        }
        stage.nothing_is_left();
    }
}

/// The command as a manager runs it in a shell of its own: it knows a dispatch's id from what was printed before.
fn followed(command: &str) -> String {
    let known = r#"$(grep -o 'd-[0-9a-z]\{26\}' "$HOME/printed" | head -1)"#;
    let command = command.replace(DISPATCH, known);
    let kept =
        r#"cat "$HOME/now"; grep -q 'd-[0-9a-z]\{26\}' "$HOME/now" && cp "$HOME/now" "$HOME/printed"; true"#;
    format!("#bash <<DONE\n(\n{command}\n) > \"$HOME/now\" || echo step \"failed\"\n{kept}\nDONE")
}
