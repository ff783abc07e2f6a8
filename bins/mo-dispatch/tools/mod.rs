//! The tools: one room each. What they say is structured, and text besides.

pub mod briefing;
pub mod cancel;
pub mod checked;
pub mod dispatch;
pub mod list;
pub mod message;
pub mod result;
pub mod schema;
pub mod spec;
pub mod status;
pub mod workers;

use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::server::progress::Reporter;
use crate::work::hub::Hub;

/// One call of a tool; its arguments fit the tool's schema.
pub struct Call {
    /// The tasks.
    pub hub: Arc<Hub>,
    /// What was given.
    pub arguments: Value,
    /// The client's own name of this call.
    pub tool_use: Option<String>,
    /// The way to tell how it goes.
    pub reporter: Reporter,
    /// Ends when the client no longer wants an answer.
    pub cancelled: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// What a tool says.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// For programs, and for clients that show a model this alone.
    pub structured: Option<Value>,
    /// The same in words.
    pub text: String,
    /// Whether nothing came of it.
    pub is_error: bool,
}

impl Said {
    /// An answer.
    pub fn new(structured: Value, text: String) -> Self {
        Self { structured: Some(structured), text, is_error: false }
    }

    /// Why nothing came of it.
    pub fn refused(why: &str) -> Self {
        Self { structured: Some(json!({"error": why})), text: format!("error: {why}"), is_error: true }
    }
}

impl Call {
    /// A text among the arguments.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.arguments.get(name).and_then(Value::as_str)
    }

    /// A number among the arguments.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.arguments.get(name).and_then(Value::as_u64)
    }

    /// Whether a switch among the arguments is on.
    pub fn is(&self, name: &str) -> bool {
        self.arguments.get(name).and_then(Value::as_bool) == Some(true)
    }
}

/// Calls the tool of this name.
pub async fn call(name: &str, call: Call) -> Said {
    match name {
        "dispatch_task" => dispatch::one(call).await,
        "dispatch_tasks" => dispatch::many(call).await,
        "task_status" => status::run(&call),
        "task_result" => result::run(call).await,
        "task_cancel" => cancel::run(call).await,
        "task_message" => message::tell(call).await,
        "task_messages" => message::list(&call),
        "list_tasks" => list::run(&call),
        "list_workers" => workers::run(call).await,
        "orchestrator_briefing" => briefing::run(&call),
        _ => Said::refused("there is no such tool"),
    }
}
