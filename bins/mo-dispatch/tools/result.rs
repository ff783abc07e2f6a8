//! `task_result`: what a task brought, a piece of its report at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::look::{self, Standing};
use crate::show::outcome::{self, Piece};
use crate::tools::status::{self, unknown};
use crate::tools::{Call, Said, dispatch};

/// The most characters at once when nobody says.
const USUAL: u64 = 200_000;
/// How often a task of another session is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Tells it, or waits for it.
pub async fn run(mut call: Call) -> Said {
    let id = call.text("id").unwrap_or_default().to_owned();
    if call.is("wait") && wait(&mut call, &id).await.is_err() {
        return Said::refused("it was not waited for any longer; the task goes on");
    }
    if call.hub.task(&id).is_some_and(|task| !task.is_over()) {
        return status::run(&call);
    }
    let Some((path, record)) = look::record(&call.hub, &id) else { return Said::refused(&unknown(&id)) };
    if look::standing(&look::held(&call.hub), &record) != Standing::Ended {
        return status::run(&call);
    }
    let from = call.number("offset").unwrap_or(0) as usize;
    let most = call.number("max_chars").unwrap_or(USUAL) as usize;
    let piece = Piece::of(&outcome::report(&record), from, most);
    let tries = look::tries(&call.hub, &id);
    let path = path.display().to_string();
    Said::new(
        outcome::data(&record, &tries, &piece, Some(&path)),
        outcome::text(&record, &tries, &piece, Some(&path)),
    )
}

/// Until it has ended, telling how it goes; an error when the call is cancelled before. The task is left alone.
async fn wait(call: &mut Call, id: &str) -> Result<(), ()> {
    let hub = Arc::clone(&call.hub);
    if hub.task(id).is_some_and(|task| !task.is_over()) {
        return dispatch::follow(call, &[id.to_owned()]).await;
    }
    loop {
        let Some((_, record)) = look::record(&hub, id) else { return Ok(()) };
        if matches!(look::standing(&look::held(&hub), &record), Standing::Ended | Standing::Lost) {
            return Ok(());
        }
        call.reporter.tell(format!("{id} on {} goes on", record.worker)).await;
        tokio::select! {
            () = &mut call.cancelled => return Err(()),
            () = sleep(LOOK) => {}
        }
    }
}
