//! Tasks that move between accounts and providers in the middle of their work, with the real Claude Code.

use std::time::Duration;

use serde_json::{Value, json};
use support::provider::Request;
use support::{Provider, Running};

use crate::accounts::{LOGIN, account, several};
use crate::stage::{Stage, WORKER_KEY};

/// A conversation with mo-dispatch itself: the shortest client there is.
pub(crate) struct Server(Running);

impl Server {
    pub(crate) fn start(stage: &Stage) -> Self {
        let run = stage.world.command(env!("CARGO_BIN_EXE_mo-dispatch")).patience(Duration::from_secs(180));
        let mut server = Self(run.stdin_held_open().spawn());
        let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        server.say(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}));
        server
    }

    fn say(&mut self, message: &Value) {
        self.0.write(format!("{message}\n").as_bytes());
    }

    /// Calls a tool and waits for its structured content.
    #[track_caller]
    pub(crate) fn call(&mut self, id: u32, tool: &str, arguments: &Value) -> Value {
        self.begin(id, tool, arguments);
        self.answer(id)
    }

    /// Calls a tool and does not wait.
    pub(crate) fn begin(&mut self, id: u32, tool: &str, arguments: &Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    /// Waits for the structured content of this call.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u32) -> Value {
        self.0.wait_for_stdout(&format!("\"id\":{id},"));
        support::wait_for("the answer's line to be whole", || {
            let said = self.0.stdout();
            let line = said.lines().find(|line| line.contains(&format!("\"id\":{id},")))?;
            serde_json::from_str::<Value>(line).ok()
        })["result"]["structuredContent"]
            .clone()
    }

    pub(crate) fn leave(mut self) {
        self.0.close_stdin();
        self.0.wait().ok();
    }
}

/// A provider of accounts that serves their logins; the first of them is preferred.
pub(crate) fn accounts_of(stage: &Stage, names: &[&str]) -> Provider {
    let provider = Provider::setup().keys([LOGIN]).start();
    for name in names {
        account(stage, name, &format!(".claude-{name}"), &provider);
    }
    several(stage);
    // Of equals, whoever tells first what is left of its plan is taken; the preferred one is waited for.
    stage.world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["prefer", names[0]]).run().ok();
    provider
}

/// What the accounts' provider was asked for this task, the client's own side questions left out.
fn asked(provider: &Provider) -> Vec<Request> {
    provider.asked().into_iter().filter(|request| !request.tools().is_empty()).collect()
}

#[test]
fn a_plan_that_ends_in_the_middle_hands_the_task_with_its_history_to_the_next_account() {
    let stage = Stage::new();
    let provider = accounts_of(&stage, &["one", "two"]);
    let mut server = Server::start(&stage);
    let prompt = "#write half.txt first half\n#quota five_hour 4000000000\n#write whole.txt second half\n#say all done";
    let task =
        json!({"title": "t", "prompt": prompt, "tier": "sonnet", "permission_mode": "bypassPermissions"});
    let said = server.call(1, "dispatch_task", &task);
    assert_eq!((&said["status"], &said["worker"]), (&json!("done"), &json!("two")), "{said:#}");
    let attempts = said["attempts"].as_array().expect("attempts");
    assert_eq!(attempts.len(), 2, "{said:#}");
    assert_eq!((&attempts[0]["worker"], &attempts[0]["status"]), (&json!("one"), &json!("quota")));
    assert_eq!(attempts[1]["went_on_with_its_history"], true, "{said:#}");
    assert!(stage.world.path("half.txt").exists(), "what was done is kept");
    // The same session, and all that was said before.
    let asked = asked(&provider);
    let (first, last) = (&asked[0], asked.last().expect("a request"));
    assert_eq!(first.session, last.session);
    assert!(last.everything().contains("first half"), "the history went along");
    // It rests until its own reset.
    let workers = server.call(2, "list_workers", &json!({}));
    let one =
        workers["workers"].as_array().expect("workers").iter().find(|row| row["name"] == "one").expect("one");
    assert_eq!(
        (&one["cooling_until"], &one["eligible"]),
        (&json!("2096-10-02T07:06:40Z"), &json!(false)),
        "{one:#}"
    );
    server.leave();
    stage.nothing_is_left();
}

#[test]
fn another_provider_begins_anew_in_the_tree_that_was_left() {
    let stage = Stage::new();
    let _accounts = accounts_of(&stage, &["one"]);
    stage.worker("zz", &stage.workers, WORKER_KEY);
    let git = |words: &[&str]| {
        stage.world.command("/usr/bin/git").args(words.to_vec()).cwd(stage.world.path("repo")).run().ok()
    };
    stage.world.write("repo/README", "x");
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "start"]);
    stage.workers.on(|request| {
        let (prompt, _) = request.prompt();
        // The scripted account's directives are not for this one: it finds what was left, and finishes.
        let is_work = prompt.contains("stopped half-way") && !request.tools().is_empty();
        is_work.then(|| {
            if request.results().is_empty() {
                support::Answer::tool(
                    "Bash",
                    json!({"command": "cat half.txt && echo finished > rest.txt", "description": "look"}),
                )
            } else {
                support::Answer::say(format!("found {}", request.results().join(" ")))
            }
        })
    });
    let run = stage.world.command(env!("CARGO_BIN_EXE_mo-dispatch")).patience(Duration::from_secs(180));
    let mut server = Server(run.cwd(stage.world.path("repo")).stdin_held_open().spawn());
    let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    server.say(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}));
    let prompt = "#write half.txt first half\n#quota five_hour 4000000000\n#say never";
    let task = json!({"title": "t", "prompt": prompt, "tier": "sonnet", "worktree": true, "permission_mode": "bypassPermissions"});
    let said = server.call(1, "dispatch_task", &task);
    assert_eq!((&said["status"], &said["worker"]), (&json!("done"), &json!("zz")), "{said:#}");
    assert!(said["report"].as_str().is_some_and(|report| report.contains("first half")), "{said:#}");
    assert_eq!(said["attempts"][1]["went_on_with_its_history"], false);
    let files = said["files"].as_array().expect("files");
    assert!(files.contains(&json!("half.txt")) && files.contains(&json!("rest.txt")), "{said:#}");
    assert!(said["branch"].as_str().is_some_and(|branch| branch.starts_with("mo/")), "{said:#}");
    server.leave();
    stage.nothing_is_left();
}

#[test]
fn a_run_that_begins_to_be_billed_is_stopped_and_the_next_account_goes_on() {
    let stage = Stage::new();
    let _provider = accounts_of(&stage, &["one", "two"]);
    let mut server = Server::start(&stage);
    // The headers of the second answer say that the plan is used up and the work is billed; left alone it never ends.
    let prompt = "#write half.txt x\n#plan five_hour 1.0 4000000000 in-use\n#bash true\n#hang";
    let task = json!({"title": "t", "prompt": prompt, "tier": "sonnet", "worker": "one", "permission_mode": "bypassPermissions"});
    let said = server.call(1, "dispatch_task", &task);
    assert_eq!(said["status"], "quota", "{said:#}");
    assert!(said["error"]["text"].as_str().is_some_and(|why| why.contains("would be billed")), "{said:#}");
    server.leave();
    stage.nothing_is_left();
}

#[test]
fn an_expired_login_sends_the_task_to_the_next_account_and_is_told() {
    let stage = Stage::new();
    let _provider = accounts_of(&stage, &["one", "two"]);
    // Its login is there and no longer good.
    let file = ".claude-one/.credentials.json";
    let text = stage.world.read(file).replace(LOGIN, "sk-ant-oat01-expired");
    stage.world.write(file, text);
    let mut server = Server::start(&stage);
    let said =
        server.call(1, "dispatch_task", &json!({"title": "t", "prompt": "#say fine", "tier": "sonnet"}));
    assert_eq!((&said["status"], &said["worker"]), (&json!("done"), &json!("two")), "{said:#}");
    assert_eq!(said["attempts"][0]["worker"], "one", "{said:#}");
    let named = json!({"title": "t", "prompt": "#say fine", "tier": "sonnet", "worker": "one"});
    let refused = server.call(2, "dispatch_task", &named);
    assert_eq!(
        (&refused["status"], &refused["error"]["kind"]),
        (&json!("failed"), &json!("key")),
        "{refused:#}"
    );
    std::fs::remove_file(stage.world.path(file)).expect("the login goes");
    let gone = server.call(3, "dispatch_task", &named);
    assert!(
        gone["error"]["text"].as_str().is_some_and(|why| why.contains("mo-worker login one")),
        "{gone:#}"
    );
    server.leave();
    stage.nothing_is_left();
}

#[test]
fn how_deep_a_model_thinks_reaches_it_as_the_clients_own_effort() {
    let stage = Stage::new();
    let provider = accounts_of(&stage, &["one"]);
    crate::accounts::known(&stage, "one", 10.0, "off");
    let mut server = Server::start(&stage);
    let mut told = Vec::new();
    for (number, effort) in [(1, "low"), (2, "max")] {
        let task = json!({"title": "t", "prompt": "#say x", "effort": effort});
        let said = server.call(number, "dispatch_task", &task);
        assert_eq!(said["status"], "done", "{said:#}");
        let last = asked(&provider).pop().expect("a request");
        told.push(last.body["output_config"]["effort"].clone());
    }
    assert_eq!(told, [json!("low"), json!("max")], "{:#?}", asked(&provider).pop().map(|last| last.body));
    server.leave();
    stage.nothing_is_left();
}
