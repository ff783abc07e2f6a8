//! `orchestrator_briefing`: how to manage workers, for the model that asks.

use serde_json::json;
use shared::policy;

use crate::schedule::candidate::is_frontier_model;
use crate::tools::{Call, Said};

/// Tells it.
pub fn run(call: &Call) -> Said {
    let model = call.text("model").unwrap_or_default();
    let frontier = is_frontier_model(model);
    let text = format!("{}\n{}", policy::manager(), policy::calibration(frontier));
    Said::new(json!({"frontier": frontier, "briefing": text}), text)
}
