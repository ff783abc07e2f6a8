//! `task_message` and `task_messages`: words to a running worker, and words from it.

use serde_json::{Value, json};
use shared::control::{self, Request};
use shared::dispatch_id::DispatchId;
use shared::event::{Event, Kind};
use shared::file;
use shared::flatten::{flatten, paragraphs};
use shared::record::Status;

use crate::look;
use crate::tools::status::unknown;
use crate::tools::{Call, Said};
use crate::work::hub::{Hub, Message};
use crate::work::task::Stage;

/// The largest event file that is looked through.
const LARGEST: u64 = 64 << 20;
/// The longest message that is shown.
const LONGEST: usize = 4_000;

/// Puts a message into a running worker.
pub async fn tell(call: Call) -> Said {
    let id = call.text("id").unwrap_or_default().to_owned();
    let text = call.text("text").unwrap_or_default().to_owned();
    let ended = || Said::refused("it has ended: task_result tells what it brought");
    match call.hub.task(&id).map(|task| task.stage) {
        Some(Stage::Queued(_)) => {
            return Said::refused("it has not begun: cancel it and dispatch it anew with another prompt");
        }
        Some(Stage::Ended) => return ended(),
        Some(_) => {}
        None => match look::record(&call.hub, &id) {
            None => return Said::refused(&unknown(&id)),
            Some((_, record)) if record.status.is_some_and(Status::is_final) => return ended(),
            Some(_) => {}
        },
    }
    let Some(run) = at_work(&call.hub, &id) else { return Said::refused(&unknown(&id)) };
    let socket = control::socket(&call.hub.world.env, &run);
    // It waits for an answer, so it waits elsewhere.
    let asked = tokio::task::spawn_blocking(move || control::ask(&socket, &Request::Tell { text })).await;
    match asked {
        Ok(Ok(answer)) if answer.ok => Said::new(
            json!({"id": id, "delivered": true, "turn": answer.turn}),
            format!("{id} has it, in turn {}", answer.turn),
        ),
        Ok(Ok(answer)) => {
            Said::refused(&flatten(&answer.error.unwrap_or_else(|| "it was not taken".to_owned()), 300))
        }
        Ok(Err(error)) => Said::refused(&error.to_string()),
        Err(error) => Said::refused(&error.to_string()),
    }
}

/// The dispatch that works on the task now.
fn at_work(hub: &Hub, id: &str) -> Option<DispatchId> {
    let ours = hub.task(id).and_then(|task| task.runs.last().cloned());
    ours.or_else(|| look::record(hub, id).and_then(|(path, _)| look::run(&path)))
}

/// What workers wrote.
pub fn list(call: &Call) -> Said {
    let since = call.number("since").unwrap_or(0);
    let messages: Vec<Message> = match call.text("id") {
        Some(id) if call.hub.task(id).is_none() => match of_file(&call.hub, id) {
            Some(messages) => messages,
            None => return Said::refused(&unknown(id)),
        },
        id => {
            let state = call.hub.state();
            state.messages.iter().filter(|one| id.is_none_or(|id| one.id == id)).cloned().collect()
        }
    };
    let new: Vec<&Message> = messages.iter().filter(|one| one.number > since).collect();
    let last = new.last().map_or(since, |one| one.number);
    let shown = |one: &Message| paragraphs(&one.text, usize::MAX).chars().take(LONGEST).collect::<String>();
    let data: Vec<Value> = new
        .iter()
        .map(|one| json!({"number": one.number, "id": one.id, "at": one.at, "from": one.from, "text": shown(one)}))
        .collect();
    let mut text: String = new
        .iter()
        .map(|one| {
            format!("{} {} {} wrote: {}\n", one.number, one.id, one.from, flatten(&shown(one), LONGEST))
        })
        .collect();
    if text.is_empty() {
        text.push_str("nothing new\n");
    }
    Said::new(json!({"messages": data, "last": last}), text)
}

/// The messages in the event file of a task that is not of this session.
fn of_file(hub: &Hub, id: &str) -> Option<Vec<Message>> {
    let (path, record) = look::record(hub, id)?;
    let events = record.events_path.map_or_else(|| path.with_extension("events"), Into::into);
    let bytes = file::read_if_there(&events, LARGEST).ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let events = text.lines().filter_map(Event::parse);
    let said = events.filter_map(|event| match event.kind {
        Kind::Message { from, text } => Some((event.ts, from, text)),
        _ => None,
    });
    let numbered = said.zip(1..).map(|((at, from, text), number)| Message {
        number,
        id: record.id.clone(),
        at: flatten(&at, 40),
        from: flatten(&from, 32),
        text,
    });
    Some(numbered.collect())
}
