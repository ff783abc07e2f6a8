//! Figures for Prometheus. The values of labels come from the configuration, never unbounded from a client.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use shared::audit_line::AuditLine;

use super::differences::Who;
use super::flat::flat;

/// The most models that get a label of their own.
const MOST_MODELS: usize = 100;
/// So many series are at hand.
const RECENT: usize = 16;
/// The longest label.
const LONGEST: usize = 80;
/// Borders of times, in seconds.
const SECONDS: [f64; 12] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// Borders of speeds, in tokens a second.
const SPEEDS: [f64; 8] = [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0];

type Labels = Vec<(&'static str, String)>;
type Times = Family<Labels, Histogram, fn() -> Histogram>;

/// What only the server knows at this moment.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Requests on their way.
    pub in_flight: u64,
    /// Requests that wait for a place, by upstream.
    pub queued: Vec<(String, u64)>,
    /// The state of each breaker, by upstream and model: 0 closed, 1 open, 2 half open.
    pub breakers: Vec<(String, String, u8)>,
    /// Audit lines that could not be written.
    pub audit_lost: u64,
}

/// All figures.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    duration: Times,
    first_byte: Times,
    speed: Times,
    tokens: Family<Labels, Counter>,
    retries: Family<Labels, Counter>,
    differences: Family<Labels, Counter>,
    cost: Family<Labels, Counter<f64, std::sync::atomic::AtomicU64>>,
    cache: Family<Labels, Gauge<f64, std::sync::atomic::AtomicU64>>,
    in_flight: Gauge,
    queued: Family<Labels, Gauge>,
    breakers: Family<Labels, Gauge>,
    audit_lost: Gauge,
    models: BTreeSet<String>,
    /// Prompt tokens and those of them read from a cache, by upstream.
    prompts: std::collections::BTreeMap<String, (u64, u64)>,
    /// The figures that were counted last: finding them by their labels takes longer than counting.
    recent: Vec<Series>,
}

/// The figures of one upstream's model.
#[derive(Debug)]
struct Series {
    provider: String,
    model: Option<String>,
    class: u16,
    labels: ((&'static str, String), (&'static str, String)),
    requests: Counter,
    duration: Histogram,
    first_byte: Option<Histogram>,
    speed: Option<Histogram>,
    tokens: Option<[Counter; 4]>,
    cache: Option<Gauge<f64, std::sync::atomic::AtomicU64>>,
}

impl Series {
    fn is_of(&self, provider: &str, model: Option<&str>, class: u16) -> bool {
        self.class == class && self.provider == provider && self.model.as_deref() == model
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let times: fn() -> Histogram = || Histogram::new(SECONDS);
        let speeds: fn() -> Histogram = || Histogram::new(SPEEDS);
        let mut all = Self {
            registry: Registry::with_prefix("mo_proxy"),
            requests: Family::default(),
            duration: Family::new_with_constructor(times),
            first_byte: Family::new_with_constructor(times),
            speed: Family::new_with_constructor(speeds),
            tokens: Family::default(),
            retries: Family::default(),
            differences: Family::default(),
            cost: Family::default(),
            cache: Family::default(),
            in_flight: Gauge::default(),
            queued: Family::default(),
            breakers: Family::default(),
            audit_lost: Gauge::default(),
            models: BTreeSet::new(),
            prompts: std::collections::BTreeMap::new(),
            recent: Vec::new(),
        };
        let to = &mut all.registry;
        to.register("requests", "Requests that ended", all.requests.clone());
        to.register(
            "request_duration_seconds",
            "From a request's arrival to its answer's end",
            all.duration.clone(),
        );
        to.register(
            "first_byte_seconds",
            "From a request's arrival to its answer's first byte",
            all.first_byte.clone(),
        );
        to.register("output_tokens_per_second", "Speed of answers after their first byte", all.speed.clone());
        to.register("tokens", "Tokens by kind", all.tokens.clone());
        to.register("retries", "Further tries, by what made them necessary", all.retries.clone());
        to.register(
            "other_model",
            "Requests in which another model was at work than was meant, by who changed it",
            all.differences.clone(),
        );
        to.register(
            "cost_usd",
            "US dollars: billed (list), or the worth of a subscription's use",
            all.cost.clone(),
        );
        to.register(
            "cache_hit_ratio",
            "Share of prompt tokens that were read from a cache",
            all.cache.clone(),
        );
        to.register("in_flight_requests", "Requests on their way", all.in_flight.clone());
        to.register("queued_requests", "Requests that wait for a place", all.queued.clone());
        to.register("breaker_state", "0 closed, 1 open, 2 half open", all.breakers.clone());
        to.register("audit_lost_lines", "Audit lines that could not be written", all.audit_lost.clone());
        all
    }
}

impl Metrics {
    /// Counts a request that ended.
    pub fn count(&mut self, line: &AuditLine) {
        let model = line.model_used.as_deref().or(line.model_asked.as_deref());
        let class = line.status / 100;
        let at = self.recent.iter().position(|one| one.is_of(&line.provider, model, class));
        let mut one = match at {
            Some(at) => self.recent.swap_remove(at),
            None => self.series(line, model, class),
        };
        self.add(&mut one, line);
        self.recent.truncate(RECENT - 1);
        // The newest first: that is asked for next, most likely.
        self.recent.insert(0, one);
    }

    fn series(&mut self, line: &AuditLine, model: Option<&str>, class: u16) -> Series {
        let upstream = ("upstream", short(&line.provider));
        let label = ("model", self.model(model));
        let labels = vec![upstream.clone(), label.clone(), ("status_class", format!("{class}xx"))];
        let own = vec![upstream.clone()];
        Series {
            provider: line.provider.clone(),
            model: model.map(str::to_owned),
            class,
            requests: self.requests.get_or_create(&labels).clone(),
            duration: self.duration.get_or_create(&own).clone(),
            first_byte: None,
            speed: None,
            tokens: None,
            cache: None,
            labels: (upstream, label),
        }
    }

    fn add(&mut self, one: &mut Series, line: &AuditLine) {
        let (upstream, model) = &one.labels;
        let own = || vec![upstream.clone()];
        one.requests.inc();
        let seconds = line.ms as f64 / 1e3;
        one.duration.observe(seconds);
        if let Some(first) = line.ttfb_ms {
            let times = one.first_byte.get_or_insert_with(|| self.first_byte.get_or_create(&own()).clone());
            times.observe(first as f64 / 1e3);
        }
        if let Some(usage) = line.usage {
            let writing = seconds - line.ttfb_ms.unwrap_or(0) as f64 / 1e3;
            if usage.output > 0 && writing > 0.0 {
                let speed = one.speed.get_or_insert_with(|| self.speed.get_or_create(&own()).clone());
                speed.observe(usage.output as f64 / writing);
            }
            let tokens = one.tokens.get_or_insert_with(|| {
                ["input", "output", "cache_creation", "cache_read"].map(|kind| {
                    let labels = vec![upstream.clone(), model.clone(), ("kind", kind.to_owned())];
                    self.tokens.get_or_create(&labels).clone()
                })
            });
            let counts = [usage.input, usage.output, usage.cache_creation, usage.cache_read];
            for (counter, count) in tokens.iter().zip(counts) {
                counter.inc_by(count);
            }
            if !self.prompts.contains_key(&upstream.1) {
                self.prompts.insert(upstream.1.clone(), (0, 0));
            }
            if let Some((prompt, read)) = self.prompts.get_mut(&upstream.1) {
                *prompt += usage.prompt();
                *read += usage.cache_read;
                if *prompt > 0 {
                    let cache = one.cache.get_or_insert_with(|| self.cache.get_or_create(&own()).clone());
                    cache.set(*read as f64 / *prompt as f64);
                }
            }
        }
        if let (Some(usd), Some(basis)) = (line.cost_usd, &line.cost_basis) {
            self.cost.get_or_create(&vec![upstream.clone(), ("basis", short(basis))]).inc_by(usd);
        }
    }

    /// Counts a further try.
    pub fn retried(&mut self, upstream: &str, reason: &'static str) {
        let labels = vec![("upstream", short(upstream)), ("reason", reason.to_owned())];
        self.retries.get_or_create(&labels).inc();
    }

    /// Counts a request in which another model was at work than was meant.
    pub fn differs(&mut self, upstream: &str, by: Who) {
        let labels = vec![("upstream", short(upstream)), ("by", by.name().to_owned())];
        self.differences.get_or_create(&labels).inc();
    }

    /// Everything as text in the OpenMetrics format.
    pub fn text(&self, live: &Live) -> String {
        self.in_flight.set(signed(live.in_flight));
        self.audit_lost.set(signed(live.audit_lost));
        for (upstream, count) in &live.queued {
            self.queued.get_or_create(&vec![("upstream", short(upstream))]).set(signed(*count));
        }
        for (upstream, model, state) in live.breakers.iter().take(MOST_MODELS) {
            let labels = vec![("upstream", short(upstream)), ("model", short(model))];
            self.breakers.get_or_create(&labels).set(i64::from(*state));
        }
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            let _ = write!(text, "# EOF");
        }
        text
    }

    /// A model's label: names come from clients, so their number is bounded.
    fn model(&mut self, name: Option<&str>) -> String {
        let Some(name) = name.map(short) else { return "none".to_owned() };
        if self.models.contains(&name) {
            return name;
        }
        if self.models.len() >= MOST_MODELS {
            return "other".to_owned();
        }
        self.models.insert(name.clone());
        name
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn short(text: &str) -> String {
    flat(text, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::ledger::usage::Usage;

    #[test]
    fn a_request_shows_in_every_figure_it_belongs_to() {
        let mut metrics = Metrics::default();
        metrics.count(&AuditLine {
            provider: "zai".into(),
            model_used: Some("glm\"5\n".into()),
            status: 200,
            usage: Some(Usage { input: 50, output: 100, cache_read: 150, ..Usage::default() }),
            cost_usd: Some(0.5),
            cost_basis: Some("list".into()),
            ttfb_ms: Some(1_000),
            ms: 2_000,
            ..AuditLine::default()
        });
        metrics.retried("zai", "529");
        let text = metrics.text(&Live { in_flight: 3, ..Live::default() });
        for line in [
            "mo_proxy_requests_total{upstream=\"zai\",model=\"glm\\\"5\",status_class=\"2xx\"} 1",
            "mo_proxy_tokens_total{upstream=\"zai\",model=\"glm\\\"5\",kind=\"cache_read\"} 150",
            "mo_proxy_cache_hit_ratio{upstream=\"zai\"} 0.75",
            "mo_proxy_cost_usd_total{upstream=\"zai\",basis=\"list\"} 0.5",
            "mo_proxy_retries_total{upstream=\"zai\",reason=\"529\"} 1",
            "mo_proxy_output_tokens_per_second_sum{upstream=\"zai\"} 100.0",
            "mo_proxy_in_flight_requests 3",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn clients_cannot_make_labels_without_end() {
        let mut metrics = Metrics::default();
        for number in 0..1_000 {
            let model_asked = Some(format!("model-{number}"));
            metrics.count(&AuditLine {
                provider: "zai".into(),
                model_asked,
                status: 404,
                ..AuditLine::default()
            });
        }
        let text = metrics.text(&Live::default());
        assert_eq!(text.matches("mo_proxy_requests_total{").count(), MOST_MODELS + 1);
    }
}
