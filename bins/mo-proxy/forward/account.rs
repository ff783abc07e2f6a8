//! What is known of one request, for the audit, the costs and the figures. It is handed over when it is dropped: a
//! request that ends in any way, by its client's leave too, is accounted for.

use std::time::Instant;

use serde_json::json;
use shared::audit_line::{AuditLine, FORMAT};
use shared::clock::rfc3339;

use super::ask::{Ask, Call, SUBAGENT};
use crate::gateway::Gateway;
use crate::limits::Outcome;
use crate::limits::refusal::{self, Limit};
use crate::observe::cost::Payer;
use crate::observe::flat::flat;
use crate::observe::observer::Ended;
use crate::observe::quota::{self, Quota};
use crate::observe::reader::{Failure, Reader};
use crate::route::provider::Key;
use crate::route::same_model::same;
use crate::route::{Leg, Route, Way};
use crate::upstream::failure::Failure as Unanswered;
use crate::wire::head::Head;
use crate::wire::status_line::Status;

/// The longest name or id of a client's that is kept.
const LONGEST: usize = 200;
/// A client that left before the end.
const LEFT: u16 = 499;

/// The account of one request.
pub struct Account<'a> {
    gateway: &'a Gateway,
    began: Instant,
    line: AuditLine,
    payer: Payer,
    retries: Vec<&'static str>,
    quota: Option<Quota>,
    prompt: Option<String>,
    /// Whether the answer says that a plan is used up.
    used_up: bool,
    reader: Option<Reader>,
}

impl<'a> Account<'a> {
    /// Opens it.
    pub fn open(gateway: &'a Gateway, head: &Head, ask: &mut Ask<'_>, id: &str) -> Self {
        let told = |name: &str| head.text(name).map(|value| flat(value, LONGEST));
        let line = AuditLine {
            v: FORMAT,
            ts: rfc3339(gateway.clock.now()),
            request_id: id.to_owned(),
            session_id: told("x-claude-code-session-id"),
            agent_id: told(SUBAGENT),
            provider: crate::config::names::ANTHROPIC.to_owned(),
            route: match ask.call {
                Call::Messages => "messages",
                Call::Count => "count_tokens",
                Call::Other => "other",
            }
            .to_owned(),
            model_asked: ask.model.as_deref().map(|model| flat(model, LONGEST)),
            status: LEFT,
            error: Some("left".to_owned()),
            ..AuditLine::default()
        };
        Self {
            gateway,
            began: Instant::now(),
            line,
            payer: Payer::Subscription,
            retries: Vec::new(),
            quota: None,
            prompt: ask.prompt.take(),
            used_up: false,
            reader: None,
        }
    }

    /// Along this route.
    pub fn along(&mut self, route: &Route) {
        self.line.role = route.role().map(str::to_owned);
    }

    /// At this place.
    pub fn at(&mut self, leg: &Leg) {
        let (worker, payer) = match &leg.way {
            Way::Anthropic => (None, Payer::Subscription),
            Way::Provider(provider) => match &provider.key {
                Key::Worker(name) => (Some(name.to_string()), Payer::Key),
                Key::Placeholder(_) | Key::None => (None, Payer::Key),
            },
        };
        leg.upstream().clone_into(&mut self.line.provider);
        (self.line.worker, self.payer) = (worker, payer);
        self.line.model_used = (!leg.model.is_empty()).then(|| leg.model.clone());
    }

    /// One more try at the place, and why if it was not the first.
    pub fn tries(&mut self, again: Option<&'static str>) {
        self.line.tries += 1;
        self.retries.extend(again);
    }

    /// The place gave nothing: the next one is asked.
    pub fn falls(&mut self) {
        self.line.fallback_from.push(self.line.provider.clone());
    }

    /// This was changed in the request.
    pub fn changed(&mut self, changes: &[&'static str]) {
        self.line.transforms = changes.iter().map(|change| (*change).to_owned()).collect();
    }

    /// An upstream answers.
    pub fn answered(&mut self, status: &Status) {
        self.line.ttfb_ms = Some(self.elapsed());
        self.line.status = status.code();
        let text = |name: &str| status.get(name).and_then(|value| std::str::from_utf8(value).ok());
        let limit = refusal::of_answer(status.code(), text, b"", self.gateway.clock.now());
        self.used_up = matches!(limit, Some(Limit::Quota(_)));
        self.reader = Some(Reader::new(
            text("content-type").unwrap_or_default(),
            text("content-encoding").unwrap_or_default(),
        ));
        if status.fields().any(|(name, _, _)| is_quota(name)) {
            let fields: Vec<(String, &str)> = status
                .fields()
                .filter_map(|(name, value, _)| {
                    let name = std::str::from_utf8(name).ok()?.to_ascii_lowercase();
                    Some((name, std::str::from_utf8(value).ok()?))
                })
                .collect();
            let fields = fields.iter().map(|(name, value)| (name.as_str(), *value));
            self.quota = quota::of_headers(fields, &rfc3339(self.gateway.clock.now()));
        }
    }

    /// The upstream sends the client elsewhere: we answer in its place.
    pub fn redirected(&mut self) {
        self.line.error = Some("redirect".to_owned());
    }

    /// The upstream gave no answer: we answer in its place.
    pub fn unanswered(&mut self, failure: &Unanswered) {
        self.line.error = Some(failure.name().to_owned());
    }

    /// The upstream was not asked, because it fails or has enough to do: we answer in its place.
    pub fn unasked(&mut self) {
        self.line.error = Some("held".to_owned());
    }

    /// We answer with this status.
    pub fn refused(&mut self, status: u16) {
        self.line.status = status;
        self.line.error.take_if(|error| error == "left");
    }

    /// A piece of the answer goes by.
    pub fn feed(&mut self, piece: &[u8]) {
        if let Some(reader) = &mut self.reader {
            reader.feed(piece);
        }
    }

    /// The answer has come to its end, well or not: `cut`, `idle`, `deadline`.
    pub fn ended(&mut self, how: Option<&str>) {
        if let Some(reader) = &mut self.reader
            && how.is_none()
        {
            reader.end();
        }
        self.line.error = how.map(str::to_owned);
    }

    /// The client left in the middle.
    pub fn left(&mut self) {
        self.line.status = LEFT;
        self.line.error = Some("left".to_owned());
    }

    /// What came of it for the upstream: a limit that is told inside a stream counts as what it is.
    pub fn outcome(&self) -> Outcome {
        match self.line.error.as_deref() {
            Some("left") => Outcome::Abandoned,
            Some(_) => Outcome::Failure,
            None if self.limit_inside().is_some() => Outcome::Throttled,
            None if self.failure().is_some() && self.line.status < 400 => Outcome::Failure,
            None => Outcome::of_status(self.line.status),
        }
    }

    fn failure(&self) -> Option<&Failure> {
        self.reader.as_ref()?.seen().failure.as_ref()
    }

    /// The limit that an error inside the answer tells of.
    fn limit_inside(&self) -> Option<Limit> {
        let failure = self.failure()?;
        let event = json!({"type": "error", "error": {"type": failure.kind, "message": failure.message}});
        refusal::of_event(event.to_string().as_bytes())
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What the answer said of itself.
    fn read(&mut self) {
        let inside = self.limit_inside();
        let Some(reader) = self.reader.take() else { return };
        let seen = reader.seen();
        self.line.message_id.clone_from(&seen.message_id);
        if let Some(model) = &seen.model {
            let sent = self.line.model_used.replace(flat(model, LONGEST));
            self.line.model_sent = sent.filter(|sent| !same(sent, model));
        }
        self.line.usage = seen.has_usage.then_some(seen.usage);
        if let (None, Some(failure)) = (&self.line.error, &seen.failure) {
            self.line.error = Some(flat(&failure.kind, LONGEST));
        }
        if self.used_up || matches!(inside, Some(Limit::Quota(_))) {
            self.line.error = Some("quota".to_owned());
        }
        self.gateway.note_thinking(&seen.signatures, &self.line.provider);
    }
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        if matches!(self.line.error.as_deref(), Some("left")) {
            self.line.status = LEFT;
        }
        self.read();
        self.line.ms = self.elapsed();
        self.gateway.observer.ended(Ended {
            line: std::mem::take(&mut self.line),
            payer: self.payer,
            retries: std::mem::take(&mut self.retries),
            quota: self.quota.take(),
            prompt: self.prompt.take(),
        });
    }
}

fn is_quota(name: &[u8]) -> bool {
    name.get(..20).is_some_and(|start| start.eq_ignore_ascii_case(b"anthropic-ratelimit-"))
}
