//! An MCP client for the tests: speaks lines to the real server, and waits for what it answers.

use std::time::Duration;

use serde_json::{Value, json};
use support::patience::within;
use support::{Running, World};

/// How long a call may take: two hundred tasks take their time where the machine is busy.
const PATIENCE: Duration = Duration::from_secs(300);

/// A session with the server.
pub(crate) struct Client {
    /// The server's process.
    pub(crate) server: Running,
    next: u64,
}

impl Client {
    /// Starts the server in this world, in its home directory.
    pub(crate) fn start(world: &World) -> Self {
        Self::of(world.command(env!("CARGO_BIN_EXE_mo-dispatch")))
    }

    /// Starts this server.
    pub(crate) fn of(run: support::Run) -> Self {
        Self { server: run.stdin_held_open().spawn(), next: 0 }
    }

    /// A session that has shaken hands.
    pub(crate) fn ready(world: &World) -> Self {
        let mut client = Self::start(world);
        client.greet();
        client
    }

    /// Shakes hands as Claude Code does.
    pub(crate) fn greet(&mut self) -> Value {
        let answer = self.ask(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
        );
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// Sends one message.
    pub(crate) fn say(&mut self, message: &Value) {
        self.raw(&format!("{message}\n"));
    }

    /// Sends these bytes.
    pub(crate) fn raw(&mut self, text: &str) {
        self.server.write(text.as_bytes());
    }

    /// Sends a request and does not wait.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request and waits for the answer.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "calls read better so")]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, &params);
        self.answer(id)
    }

    /// Calls a tool and does not wait; progress is told under the request's number.
    pub(crate) fn begin(&mut self, tool: &str, arguments: &Value) -> u64 {
        let token = self.next + 1;
        let meta = json!({"progressToken": token, "claudecode/toolUseId": format!("toolu_{token}")});
        self.send("tools/call", &json!({"name": tool, "arguments": arguments, "_meta": meta}))
    }

    /// Calls a tool and waits for its result.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "calls read better so")]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin(tool, &arguments);
        self.result(id)
    }

    /// Calls a tool and waits for its structured content.
    #[track_caller]
    pub(crate) fn data(&mut self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments)["structuredContent"].clone()
    }

    /// Everything the server has said.
    pub(crate) fn said(&self) -> Vec<Value> {
        let text = self.server.stdout();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
    }

    /// The answer to this request, when it has come.
    pub(crate) fn answered(&self, id: u64) -> Option<Value> {
        self.said().into_iter().find(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Waits for the answer to this request.
    #[track_caller]
    pub(crate) fn answer(&self, id: u64) -> Value {
        let answer = within(PATIENCE, || self.answered(id));
        assert!(answer.is_some(), "no answer to request {id}; stderr: {}", self.server.stderr());
        answer.unwrap_or_default()
    }

    /// Waits for the result of this call.
    #[track_caller]
    pub(crate) fn result(&self, id: u64) -> Value {
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// What was told as progress of this call.
    pub(crate) fn progress(&self, id: u64) -> Vec<String> {
        let told = self.said().into_iter().filter(|message| {
            message["method"] == "notifications/progress" && message["params"]["progressToken"] == id
        });
        told.map(|message| message["params"]["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Cancels a request.
    pub(crate) fn cancel(&mut self, id: u64) {
        let params = json!({"requestId": id, "reason": "the test wants it"});
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    }

    /// Goes, as a client does whose session ends: its side of the pipe is closed.
    #[track_caller]
    pub(crate) fn leave(mut self) -> support::Output {
        self.server.close_stdin();
        self.server.wait()
    }
}
