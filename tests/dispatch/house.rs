//! A house with workers whose Claude Code is a miniature: it speaks the client's stream, does what the prompt says, and
//! writes down when it began and ended. The real one is driven by `tests/client`.

use std::path::PathBuf;

use support::World;

/// What the miniature does: words in the prompt decide. It notes `+ WORKER PID` when it begins and `- WORKER PID`.
pub(crate) const MINIATURE: &str = r#"
case ${1-} in --version) echo '2.1.332 (Claude Code)'; exit;; esac
session= next=
for word; do
  case $next in session) session=$word;; esac
  next=
  case $word in --session-id|--resume) next=session;; esac
done
log="$HOME/log"
echo "+ $MO_WORKER $$" >>"$log"
trap 'echo "- $MO_WORKER $$" >>"$log"' EXIT
trap 'exit 143' TERM INT HUP
say() {
  printf '{"type":"assistant","message":{"id":"msg_%s_%s","model":"m-1","role":"assistant","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":10,"output_tokens":5}},"parent_tool_use_id":null}\n' "$session" "$1" "$2"
}
over() { printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"%s"}\n' "$1" "$session"; }
limit() { printf '{"type":"rate_limit_event","rate_limit_info":%s}\n' "$1"; }
gated() { gate=${line##*\#gate } gate=${gate%%[!a-z]*}; while [ ! -e "$HOME/$gate" ]; do sleep 0.02; done; }
while IFS= read -r line; do
  case $line in *'"type":"user"'*) ;; *) continue;; esac
  printf '{"type":"system","subtype":"init","session_id":"%s","claude_code_version":"2.1.332"}\n' "$session"
  uuid=${line##*\"uuid\":\"} uuid=${uuid%%\"*}
  printf '{"type":"command_lifecycle","command_uuid":"%s","state":"started"}\n' "$uuid"
  case $line in
    *'#crash'*) echo "- $MO_WORKER $$" >>"$log"; kill -9 $$;;
    *'#exit'*) echo 'it broke' >&2; exit 3;;
    *'#quota'*) case " $(cat "$HOME/quota" 2>/dev/null) " in *" $MO_WORKER "*)
        case $line in *'#gate'*) gated;; esac
        limit '{"status":"rejected","rateLimitType":"five_hour","resetsAt":4000000000}'
        printf '{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":429,"result":"limit","session_id":"%s"}\n' "$session"
        exit 1;; esac;;
    *'#overage'*) case " $(cat "$HOME/quota" 2>/dev/null) " in *" $MO_WORKER "*)
        limit '{"status":"allowed","rateLimitType":"five_hour","isUsingOverage":true,"overageEnabled":true}'
        say 1 billed; gated;; esac;;
    *'#hang'*) say 1 hanging; sleep 600 & wait;;
    *'#gate'*) say 1 waiting; gated;;
  esac
  words=done
  case $line in *'#say '*) words=${line##*\#say } words=${words%%[!a-zA-Z0-9 ]*};; esac
  say 2 "$words"
  over "$words"
done
"#;

/// A house.
pub(crate) struct House {
    pub(crate) world: World,
}

impl House {
    /// With these workers, each on an endpoint of its own; its Claude Code never asks it anything.
    #[track_caller]
    pub(crate) fn with(workers: &[&str]) -> Self {
        let mut world = World::new();
        // Leases and records must live in the time in which processes do.
        world.without("MODEL_ORCHESTRATION_NOW");
        world.fake("claude", MINIATURE);
        let house = Self { world };
        for (number, name) in workers.iter().enumerate() {
            house.worker(name, &format!("http://127.0.0.1:{}", 9 + number));
        }
        house
    }

    /// Makes a worker at this endpoint.
    #[track_caller]
    pub(crate) fn worker(&self, name: &str, url: &str) {
        let create = self.world.command(env!("CARGO_BIN_EXE_mo-worker"));
        create.args(["create", name, "--base-url", url, "--sonnet", "m-1"]).run().ok();
        let key = self.world.command(env!("CARGO_BIN_EXE_mo-key")).arg(name);
        key.stdin(format!("key-of-{name}-0123456789\n")).run().ok();
    }

    /// Lets a worker run so many at once.
    #[track_caller]
    pub(crate) fn limit(&self, name: &str, most: u32) {
        self.set(name, "max_parallel", &most.to_string());
    }

    /// Sets a member of a worker's profile.
    #[track_caller]
    pub(crate) fn set(&self, name: &str, member: &str, value: &str) {
        let file = format!(".claude-workers/{name}/worker.json");
        let mut profile: serde_json::Value =
            serde_json::from_str(&self.world.read(&file)).expect("a profile");
        profile[member] = serde_json::from_str(value).expect("a value");
        self.world.write(&file, profile.to_string());
    }

    /// Sets the dispatcher's settings.
    pub(crate) fn settings(&self, text: &str) {
        self.world.write(".claude-workers/.dispatch/config.json", text);
    }

    /// What the miniatures noted.
    pub(crate) fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.world.path("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// How many miniatures of a worker were at work at once.
    pub(crate) fn most_at_once(&self, worker: &str) -> usize {
        let (mut now, mut most) = (0_usize, 0);
        for line in self.log() {
            let mut words = line.split(' ');
            let (sign, name) = (words.next(), words.next());
            if name == Some(worker) {
                now = if sign == Some("+") { now + 1 } else { now.saturating_sub(1) };
                most = most.max(now);
            }
        }
        most
    }

    /// Opens the gate that a miniature waits at.
    pub(crate) fn open(&self, gate: &str) -> PathBuf {
        self.world.write(gate, "")
    }

    /// Waits until nothing that was started here lives any more.
    #[track_caller]
    pub(crate) fn nothing_is_left(&self) {
        support::wait_until("every process to be gone", || self.world.processes().is_empty());
    }
}
