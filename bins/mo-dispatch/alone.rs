//! A task that outlives its session: this program once more, in a session of its own and without a client, holds that
//! one task. It waits for a place, moves on from worker to worker, and goes when the task has ended.

use std::ffi::OsString;
use std::io::Read;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use shared::dispatch_id::DispatchId;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::record::Status;
use shared::say::Say;
use shared::sibling;
use shared::world::World;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::NAME;
use crate::tools::spec::Spec;
use crate::work::hub::Hub;
use crate::work::task::{Stage, Task};
use crate::work::{close, plan};

/// The word that starts it; nobody types it.
const WORD: &str = "alone";
/// The largest order that is read: a task's texts are bounded by its schema.
const LARGEST: u64 = 8 << 20;
/// How often it looks whether mo-spawn has taken the task over.
const LOOK: Duration = Duration::from_millis(50);

/// What is handed over.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    id: String,
    asked_ms: i64,
    tool_use: Option<String>,
    session: Option<String>,
    spec: Spec,
}

/// What it says once, when it is clear how the task begins.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Begun {
    /// At work on this worker.
    Running(String),
    /// Waits, and why.
    Waiting(String),
    /// Has ended already: it could not begin.
    Ended,
}

/// Hands a task over. From then on it no longer depends on this process.
pub async fn start(hub: &Hub, task: &Task) -> std::result::Result<Begun, String> {
    let program = sibling::find(NAME).ok_or_else(|| format!("{NAME} is no longer where it was"))?;
    let order = Order {
        id: task.id.to_string(),
        asked_ms: task.asked.as_millisecond(),
        tool_use: task.tool_use.clone(),
        session: task.session.clone(),
        spec: task.spec.clone(),
    };
    let order = serde_json::to_vec(&order).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg(WORD).current_dir(&hub.workspace);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("cannot start {NAME} once more: {error}"))?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    // Waited for, so that it leaves nothing behind where this process lives longer.
    tokio::spawn(async move { child.wait().await });
    if let Some(mut stdin) = stdin {
        // One that ends at once says nothing below.
        let _ = stdin.write_all(&order).await;
    }
    let mut line = String::new();
    if let Some(stdout) = stdout {
        BufReader::new(stdout).read_line(&mut line).await.map_err(|error| error.to_string())?;
    }
    serde_json::from_str(&line).map_err(|_| "it ended before it had begun with the task".to_owned())
}

/// Whether the command line begins so.
pub fn takes(word: Option<&OsString>) -> bool {
    word.is_some_and(|word| word == WORD)
}

/// Holds the task that comes on standard input until it has ended.
pub fn run(say: Say) -> Result<Exit> {
    // Refused to the leader of a group only, and we lead none: what the session's terminal sends is not for us.
    let _ = rustix::process::setsid();
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LARGEST).read_to_end(&mut bytes);
    read.map_err(|error| Error::new(Exit::Io, "cannot read the task").because(&error))?;
    let order: Order = serde_json::from_slice(&bytes)
        .map_err(|error| Error::new(Exit::Usage, "this starts by itself, not by hand").caused_by(error))?;
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| Error::new(Exit::Bug, "cannot start an event loop").because(&error))?;
    let hub = Arc::new(Hub::alone(World::of_process(NAME)?)?);
    runtime.block_on(hold(hub, order, say))
}

async fn hold(hub: Arc<Hub>, order: Order, say: Say) -> Result<Exit> {
    let failed = |error: std::io::Error| Error::new(Exit::Bug, "cannot watch signals").because(&error);
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let id = DispatchId::parse(&order.id)?;
    let asked = Timestamp::from_millisecond(order.asked_ms).unwrap_or_else(|_| hub.world.clock.now());
    // Here it is a task like any other: this process is its session.
    let spec = Spec { detach: false, ..order.spec };
    let task = Task { tool_use: order.tool_use, session: order.session, ..Task::new(id, spec, asked) };
    close::ask(&hub, &task)?;
    let id = task.id.to_string();
    hub.state().tasks.insert(id.clone(), task);
    tokio::spawn(plan::run(Arc::clone(&hub)));
    let ids = [id];
    let told = async {
        if let Ok(line) = serde_json::to_string(&begun(&hub, &ids[0]).await) {
            // Whoever handed it over may have gone already, which is its right.
            let _ = say.line(&line);
        }
        hub.ended(&ids).await;
    };
    tokio::select! {
        () = told => return Ok(Exit::Done),
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    hub.close();
    hub.all_ended().await;
    Ok(Exit::Done)
}

/// How it begins, once that is clear.
async fn begun(hub: &Hub, id: &str) -> Begun {
    loop {
        let Some(task) = hub.task(id) else { return Begun::Ended };
        match &task.stage {
            Stage::Queued(why) if *why != Task::FIRST => return Begun::Waiting(why.clone()),
            Stage::Running { worker, .. } => {
                let record = close::read(hub, &task);
                if record.is_some_and(|record| record.status == Some(Status::Running)) {
                    return Begun::Running(worker.clone());
                }
            }
            Stage::Ended => return Begun::Ended,
            Stage::Queued(_) | Stage::Detached(_) => {}
        }
        tokio::time::sleep(LOOK).await;
    }
}
