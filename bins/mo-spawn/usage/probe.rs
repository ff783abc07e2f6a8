//! Asks Claude Code itself for an account's usage: one control request, no prompt, no session, no model.
//! It uses the account's login; we see the answer only.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use shared::child_env::{ChildEnv, Launch};
use shared::claude;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::usage::{self, Reading};
use shared::worker::Worker;
use shared::world::World;

/// Our request among whatever else goes over the pipe.
const REQUEST: &str = "mo-usage";
/// No settings of the user's, no servers, no session kept: nothing but the question.
const ARGUMENTS: [&str; 10] = [
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--strict-mcp-config",
    "--no-session-persistence",
    "--setting-sources",
    "local",
];
/// The most that is read.
const CAP: u64 = 4 << 20;
/// How long Claude Code may take to end once nobody asks any more.
const GRACE: Duration = Duration::from_secs(3);
/// Pauses between looks whether it has ended.
const PAUSE: Duration = Duration::from_millis(10);

/// The reading, which may be that nothing could be read.
pub fn ask(world: &World, worker: &Worker, patience: Duration) -> Result<Reading> {
    let program = claude::find(world)?;
    let env = ChildEnv::of(&world.env, worker, &world.paths, &Launch::default());
    // A neutral place: no project has a say.
    let neutral = tempfile::tempdir()
        .map_err(|error| Error::new(Exit::Io, "cannot make a temporary directory").because(&error))?;
    let mut child = Command::new(&program)
        .args(ARGUMENTS)
        .env_clear()
        .envs(env.variables())
        .current_dir(neutral.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| claude::cannot_run(&program, &error))?;
    let answer = answer(&mut child, patience);
    end(&mut child);
    let now = world.clock.now();
    let Some(answer) = answer else {
        let why = "Claude Code did not answer the question for its usage".to_owned();
        return Ok(Reading { error: Some(why), ..Reading::empty(now) });
    };
    Ok(usage::of_answer(&answer, now))
}

fn answer(child: &mut Child, patience: Duration) -> Option<Value> {
    // It says nothing before it is asked, so there is nothing to wait for.
    let request = json!({"type": "control_request", "request_id": REQUEST,
        "request": {"subtype": "get_usage", "skip_behaviors": true}});
    let stdin = child.stdin.as_mut()?;
    // One that has ended already reads nothing: its end shows below.
    let _ = stdin.write_all(format!("{request}\n").as_bytes()).and_then(|()| stdin.flush());
    let stdout = BufReader::new(child.stdout.take()?.take(CAP));
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let answer = stdout.split(b'\n').map_while(std::result::Result::ok).find_map(|line| read(&line));
        sender.send(answer)
    });
    receiver.recv_timeout(patience).ok().flatten()
}

/// The answer to our request in this line.
fn read(line: &[u8]) -> Option<Value> {
    let frame: Value = serde_json::from_slice(line).ok()?;
    let response =
        frame.get("response").filter(|_| frame.get("type").is_some_and(|kind| kind == "control_response"))?;
    (response.get("request_id")? == REQUEST).then(|| response.get("response").cloned().unwrap_or_default())
}

/// Lets it end by itself, and ends it where it does not.
fn end(child: &mut Child) {
    drop(child.stdin.take());
    let start = Instant::now();
    while start.elapsed() < GRACE {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(PAUSE);
    }
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_to_our_own_question_is_read() {
        let line = |id: &str, kind: &str| {
            format!(r#"{{"type":"{kind}","response":{{"request_id":"{id}","response":{{"a":1}}}}}}"#)
        };
        assert_eq!(read(line(REQUEST, "control_response").as_bytes()), Some(json!({"a": 1})));
        assert_eq!(read(line("other", "control_response").as_bytes()), None);
        assert_eq!(read(line(REQUEST, "system").as_bytes()), None);
        // A refusal has no inner response: it is an answer that says nothing.
        let refused = r#"{"type":"control_response","response":{"request_id":"mo-usage","subtype":"error"}}"#;
        assert_eq!(read(refused.as_bytes()), Some(Value::Null));
        assert_eq!(read(b"not json"), None);
    }
}
