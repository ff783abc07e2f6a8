//! The variables of the earlier gateway, where they still make sense. What the file says wins over them, and what
//! they can no longer mean is told, not passed over.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use shared::base_url::BaseUrl;
use shared::env::{Env, is_off};
use shared::redact::typed;

use super::mistake::Mistake;
use super::names::LEAST_THINKING;
use super::{Compressing, Config, Listen, Log, MaxBody, Profile, Spending, Thinking};

/// The profile that the earlier variables make, for the upstream `ollama`.
const PROFILE: &str = "earlier";

struct Variables<'e> {
    env: &'e Env,
    mistakes: Vec<Mistake>,
}

impl Variables<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.env.text(name).map(str::trim).filter(|value| !value.is_empty())
    }

    fn wrong(&mut self, name: &str, what: &str) {
        let shown = typed(self.text(name).unwrap_or_default());
        self.mistakes.push(Mistake::in_variable(name, format!("`{shown}` {what}")));
    }

    /// A number from `least` to `most`.
    fn number<T: Copy + FromStr + PartialOrd + std::fmt::Display>(
        &mut self,
        name: &str,
        least: T,
        most: T,
    ) -> Option<T> {
        let text = self.text(name)?;
        // A comparison with NaN is false, so NaN is refused like every other number out of range.
        let fits = text.parse().ok().filter(|number: &T| *number >= least && *number <= most);
        if fits.is_none() {
            self.wrong(name, &format!("is no number from {least} to {most}"));
        }
        fits
    }
}

/// Lays the variables over the configuration, and tells all that is wrong with them.
pub fn read(env: &Env, config: &mut Config) -> Vec<Mistake> {
    let mut variables = Variables { env, mistakes: Vec::new() };
    listen(&mut variables, config);
    ollama(&mut variables, config);
    profile(&mut variables, config);
    figures(&mut variables, config);
    if variables.text("COMPRESS_CONTEXT").is_some_and(|value| !is_off(value)) {
        config.compressing = Some(Compressing::default());
    }
    if let Some(keep) = variables.number("COMPRESS_KEEP_RECENT_TURNS", 4, 10_000)
        && let Some(compressing) = &mut config.compressing
    {
        compressing.keep = keep;
    }
    if let Some(size) = variables.number("COMPRESS_MIN_TOOL_RESULT_BYTES", 500, 1 << 20)
        && let Some(compressing) = &mut config.compressing
    {
        compressing.size = size;
    }
    variables.mistakes
}

/// Variables that are set and mean nothing here, and why.
pub fn without_meaning(env: &Env) -> Vec<String> {
    let told = [
        ("ANTHROPIC_HOST", "the login of a subscription goes to api.anthropic.com only"),
        ("PROXY_AUTH_TOKEN", "the token is made by us: it lies in .proxy/token"),
        ("AUDIT_FILE", "the audit trail lies in .proxy/audit"),
        ("LOG_FILE", "the log goes to standard error"),
    ];
    let set = told.into_iter().filter(|(name, _)| env.is_set(name));
    set.map(|(name, why)| format!("{name} is not followed: {why}")).collect()
}

fn listen(variables: &mut Variables<'_>, config: &mut Config) {
    let Listen::Loopback(mut address, mut port) = config.listen.clone() else { return };
    if let Some(host) = variables.text("CLAUDE_DUAL_HOST") {
        match host.parse::<IpAddr>() {
            Ok(parsed) if parsed.is_loopback() => address = parsed,
            _ if host == "localhost" => {}
            _ => variables
                .wrong("CLAUDE_DUAL_HOST", "is no address of this machine: it must be 127.0.0.1 or ::1"),
        }
    }
    port = variables.number("CLAUDE_DUAL_PORT", 1, u16::MAX).unwrap_or(port);
    config.listen = Listen::Loopback(address, port);
}

/// `OLLAMA_HOST` is also Ollama's own variable, where it is a host, a host with a port, or a URL.
fn ollama(variables: &mut Variables<'_>, config: &mut Config) {
    let port = variables.number("OLLAMA_PORT", 1, u16::MAX);
    let host = variables.text("OLLAMA_HOST").map(str::to_owned);
    if port.is_none() && host.is_none() {
        return;
    }
    let host = host.unwrap_or_else(|| "127.0.0.1".to_owned());
    let port = port.unwrap_or(11434);
    let with_scheme = if host.contains("://") { host } else { format!("http://{host}") };
    // A server told to listen everywhere is reached here.
    let url = BaseUrl::parse(&with_scheme).map(|parsed| parsed.url).and_then(|url| {
        let host = if url.host().as_str() == "0.0.0.0" { "127.0.0.1" } else { url.host().as_str() };
        let scheme = if url.is_https() { "https" } else { "http" };
        match url.port() {
            None if !url.is_https() && !with_scheme.ends_with(":80") => {
                BaseUrl::parse(&format!("{scheme}://{host}:{port}"))
            }
            Some(port) => BaseUrl::parse(&format!("{scheme}://{host}:{port}")),
            None => BaseUrl::parse(&format!("{scheme}://{host}")),
        }
    });
    match url {
        Ok(parsed) => config.upstreams.entry("ollama".to_owned()).or_default().base_url = Some(parsed.url),
        Err(refusal) => variables.wrong("OLLAMA_HOST", &format!("is no place of a server: {refusal}")),
    }
}

fn profile(variables: &mut Variables<'_>, config: &mut Config) {
    let profile = Profile {
        max_tokens: None,
        floor: variables.number("GLM_MAX_TOKENS_FLOOR", 1, 10_000_000),
        thinking: variables.number("GLM_THINKING_BUDGET", LEAST_THINKING, 10_000_000).map(Thinking::Budget),
        temperature: variables.number("GLM_TEMPERATURE", 0.0, 2.0),
    };
    if profile != Profile::default() {
        config.profiles.insert(PROFILE.to_owned(), profile);
        config.upstreams.entry("ollama".to_owned()).or_default().profile = Some(PROFILE.to_owned());
    }
}

fn figures(variables: &mut Variables<'_>, config: &mut Config) {
    if let Some(rate) = variables.number("RATE_LIMIT_RPM", 1, 1_000_000) {
        config.pace.per_minute = Some(rate);
    }
    if let Some(bytes) = variables.number("MAX_REQUEST_BYTES", 1024, 1 << 30) {
        config.max_body = MaxBody(bytes);
    }
    if let Some(failures) = variables.number("CIRCUIT_THRESHOLD", 1, 10_000) {
        config.breaking.failures = failures;
    }
    if let Some(open) = variables.number("CIRCUIT_RESET_MS", 1, 86_400_000) {
        config.breaking.open = Duration::from_millis(open);
    }
    if let Some(tries) = variables.number("RETRY_MAX", 0, 10) {
        config.retrying.tries = tries;
    }
    if let Some(base) = variables.number("RETRY_BASE_MS", 1, 60_000) {
        config.retrying.base = Duration::from_millis(base);
    }
    if let Some(usd) = variables.number("COST_DAILY_LIMIT_USD", 0.01, 1e6) {
        config.spending = Some(Spending { usd, refuse: false });
    }
    if let Some(level) = variables.text("LOG_LEVEL") {
        match Log::parse(level) {
            Some(log) => config.log = log,
            None => variables.wrong("LOG_LEVEL", &format!("is none of {}", Log::NAMES.join(", "))),
        }
    }
}
