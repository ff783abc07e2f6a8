//! One line of the gateway's audit: what was asked, who answered, what it used. Written and read by mo-proxy; of
//! `route`, `message_id`, `session_id` and `worker` the ledger has its own reader, which must change with them. Content
//! never stands here.

use serde::{Deserialize, Serialize};

use crate::ledger::usage::Usage;

/// The format of these lines.
pub const FORMAT: u32 = 1;

/// One request and its answer.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct AuditLine {
    /// The format: 1.
    pub v: u32,
    /// When the request came, RFC 3339.
    pub ts: String,
    /// Our id of it.
    pub request_id: String,
    /// The message that answered.
    pub message_id: Option<String>,
    /// The client's session.
    pub session_id: Option<String>,
    /// The client's subagent.
    pub agent_id: Option<String>,
    /// The name of that subagent, where its prompt is one that the launcher has read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The role that was asked for.
    pub role: Option<String>,
    /// The worker whose key was used.
    pub worker: Option<String>,
    /// The upstream.
    pub provider: String,
    /// What was asked of it: `messages`, `count_tokens`, `other`.
    pub route: String,
    /// The model that the client named.
    pub model_asked: Option<String>,
    /// The model that the agent names, where the client asked for another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_named: Option<String>,
    /// The model that we asked for, where the upstream answered as another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_sent: Option<String>,
    /// The model that answered, by its own word, else the one we asked for.
    pub model_used: Option<String>,
    /// Its tokens; nothing where the answer told none.
    pub usage: Option<Usage>,
    /// What they cost; nothing where the price is unknown.
    pub cost_usd: Option<f64>,
    /// What that amount means: `list` (billed by use), `flat` (paid by the month), `worth` (a subscription's use at
    /// list prices), `unknown`.
    pub cost_basis: Option<String>,
    /// The status that the client got; 499 where it left before the end.
    pub status: u16,
    /// How it ended where that is not the status's word: `cut`, `left`, `idle`, `deadline`,
    /// `redirect` (the upstream sent the client elsewhere, which it was not told), `unreachable` (no connection came
    /// about), `no-answer`, `silent` (none came in time), `held` (it was not asked), an API error's type.
    pub error: Option<String>,
    /// Tries, the first included.
    pub tries: u32,
    /// The upstreams that were tried before this one.
    pub fallback_from: Vec<String>,
    /// From the request's arrival to the answer's first byte.
    pub ttfb_ms: Option<u64>,
    /// From the request's arrival to the answer's end.
    pub ms: u64,
    /// What was changed in the request.
    pub transforms: Vec<String>,
    /// Lines that could not be written before this one: the disk was full, or the queue.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// The hash of the line before.
    pub prev_hash: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde calls")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
