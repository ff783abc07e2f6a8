//! Tests of the configuration: what is read, and that every mistake is told at once, with its line.

use std::path::Path;

use proptest::prelude::*;

use super::fuzz::check;
use super::*;

fn read(text: &str) -> Result<Config, Vec<String>> {
    let read = Config::read(&Env::default(), Path::new("/c"), Some(text.as_bytes()));
    read.map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect())
}

fn with(variables: &[(&str, &str)], text: Option<&str>) -> Result<Config, Vec<String>> {
    let env: Env = variables.iter().copied().collect();
    let read = Config::read(&env, Path::new("/c"), text.map(str::as_bytes));
    read.map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect())
}

/// A configuration that says everything, as docs/proxy.md shows it.
const WHOLE: &str = r#"{
  // Comments are fine.
  "version": 1,
  "listen": "[::1]:4000",
  "ca_file": "/etc/ca.pem",
  "upstreams": {
    "box": {"base_url": "http://10.0.0.7:11434/v1", "auth": "x-api-key", "worker": "glm", "profile": "quick",
      "models": {"qwen3:30b": {"max_output": 32000, "context_window": 65536}}, "keeps": ["output_config"],
      "betas": ["b-1"], "limits": {"concurrent": 1}, "flat_plan": true},
    "zai": {"limits": {"requests_per_minute": 60, "concurrent": 4, "queue": 8, "wait_seconds": 5}}
  },
  "rules": [
    {"model": "glm-*", "to": "zai"},
    {"model": "*:cloud", "to": "ollama-cloud"},
    {"model": "fast", "to": "box,qwen3:30b", "profile": "quick"}
  ],
  "default": "zai,glm-5.2",
  "roles": {
    "explorer": "kimi,kimi-k2.5",
    "worker": {"to": "zai,glm-5.2", "profile": "quick", "fallback": ["kimi,kimi-k2.7-code", "mo-explorer", "anthropic,claude-haiku-5-5"]},
  },
  "profiles": {"quick": {"max_tokens": 16000, "floor": 4096, "thinking": 8000, "temperature": 0.3}, "plain": {"thinking": "off"}},
  "limits": {"concurrent": 8},
  "breaker": {"failures": 3, "share": 0.3, "window_seconds": 30, "open_seconds": 10},
  "retry": {"tries": 1, "base_ms": 100, "longest_seconds": 5, "statuses": [429, 529], "budget": 0.1},
  "daily_limit": {"usd": 12.5, "then": "refuse"},
  "audit": {"size_mb": 8, "days": 14, "content": false},
  "timeouts": {"connect_seconds": 3, "idle_seconds": 300, "total_seconds": 900, "ping_seconds": 10, "drain_seconds": 20},
  "max_body_mb": 48,
  "log": "debug",
  "markers": true,
  "compress": {"keep_messages": 30, "min_bytes": 2000}
}"#;

#[test]
fn everything_that_can_be_said_is_understood() {
    let config = read(WHOLE).unwrap();
    assert_eq!(config.listen, Listen::Loopback("::1".parse().unwrap(), 4000));
    let own = &config.upstreams["box"];
    assert_eq!(own.base_url.as_ref().unwrap().as_str(), "http://10.0.0.7:11434");
    assert_eq!(
        (own.auth, own.worker.as_deref(), own.flat_plan),
        (Some(Auth::XApiKey), Some("glm"), Some(true))
    );
    assert_eq!(own.models["qwen3:30b"].max_output, Some(32_000));
    assert_eq!(config.upstreams["zai"].pace.unwrap().wait, Some(Duration::from_secs(5)));
    assert_eq!(config.rules[1].pattern, Pattern::Suffix(":cloud".into()));
    assert_eq!(
        config.rules[2].to,
        Target { upstream: "box".into(), model: Some("qwen3:30b".into()), line: 15 }
    );
    let worker = &config.roles["worker"];
    assert_eq!((worker.profile.as_deref(), worker.fallback.len(), worker.line), (Some("quick"), 3, 20));
    assert_eq!(worker.fallback[1], Fallback::Role("explorer".into(), 20));
    assert_eq!(config.profiles["quick"].thinking, Some(Thinking::Budget(8000)));
    assert_eq!(config.profiles["plain"].thinking, Some(Thinking::Off));
    assert_eq!((config.breaking.failures, config.retrying.statuses.as_slice()), (3, &[429, 529][..]));
    assert_eq!(config.spending, Some(Spending { usd: 12.5, refuse: true }));
    assert_eq!((config.auditing.size, config.max_body.0), (8 << 20, 48 << 20));
    assert_eq!(config.compressing, Some(Compressing { keep: 30, size: 2000 }));
    assert_eq!((config.log, config.markers), (Log::Debug, true));
}

#[test]
fn nothing_needs_to_be_said() {
    for text in [None, Some("{}"), Some("{ /* nothing */ }")] {
        assert_eq!(with(&[], text).unwrap(), Config::default());
    }
    assert_eq!(Config::default().listen, Listen::Loopback(IpAddr::V4(Ipv4Addr::LOCALHOST), 3457));
    assert!(!Config::default().markers && Config::default().compressing.is_none());
}

#[test]
fn all_mistakes_are_told_at_once_each_with_its_line() {
    let mistakes = read(
        r#"{
  "lissten": "x",
  "listen": "0.0.0.0:80",
  "upstreams": {
    "Box": {"base_url": "https://user:sk-secret@h"},
    "own": {"base_url": "https://h", "api_key": "sk-secret-0123456789abcdef"},
    "anthropic": {"base_url": "https://h"}
  },
  "rules": [
    {"model": "a*b", "to": "zai"},
    {"model": "claude-*", "to": "zai"},
    {"model": "x", "to": "anthropic,glm"},
    {"to": "zai"},
    {"model": "g-*", "to": "zai"},
    {"model": "G-5*", "to": "zai", "profile": "quik"}
  ],
  "roles": {"r": {"to": "zai", "profile": "quick"}},
  "profiles": {"quick": {"max_tokens": 10, "floor": 20, "thinking": 5, "temperature": 3}},
  "retry": {"tries": "two", "statuses": [200]},
  "daily_limit": {"then": "stop"},
  "timeouts": {"ping_seconds": 200},
  "markers": 1,
  "markers": 1
}"#,
    )
    .unwrap_err();
    for (line, part) in [
        (2, "did you mean `listen`?"),
        (3, "`listen` must be an address of this machine"),
        (5, "cannot be an upstream's name"),
        (5, "holds a user name"),
        (6, "holds a key"),
        (7, "no other place"),
        (10, "one `*`"),
        (11, "always go to Anthropic"),
        (12, "only models whose names begin with claude-"),
        (13, "lacks `model`"),
        (15, "never reached: line 14"),
        (15, "did you mean `quick`?"),
        (18, "floor 20 is above"),
        (18, "number from 1024"),
        (18, "number from 0 to 2"),
        (19, "retry.tries"),
        (19, "retry.statuses"),
        (20, "tell"),
        (20, "lacks `usd`"),
        (21, "at most 120"),
        (22, "true or false"),
        (23, "stands twice"),
    ] {
        let start = format!("/c:{line}: ");
        let told = mistakes.iter().any(|mistake| mistake.starts_with(&start) && mistake.contains(part));
        assert!(told, "{line} {part}: {mistakes:#?}");
    }
    assert_eq!(mistakes.len(), 22, "{mistakes:#?}");
    assert!(!mistakes.iter().any(|mistake| mistake.contains("secret")), "{mistakes:#?}");
}

#[test]
fn what_is_no_document_is_told_by_line() {
    for (text, line, part) in [
        ("", 1, "empty"),
        ("{\n\"a\": }", 2, ""),
        ("{\n\"log\": \"info\"\n\"markers\": true}", 2, "comma"),
        ("[]", 1, "must be an object"),
        ("{\"version\": 2}", 1, "version 2"),
        ("{'log': 1}", 1, ""),
        ("{\n\"max_body_mb\": NaN}", 2, ""),
    ] {
        let mistakes = read(text).unwrap_err();
        let told = &mistakes[0];
        assert!(told.starts_with(&format!("/c:{line}: ")) && told.contains(part), "{text}: {mistakes:?}");
    }
}

#[test]
fn places_to_listen_stay_on_this_machine() {
    for text in ["127.0.0.1:1", "localhost:80", "0", "[::1]:9", "127.0.0.2", "unix:/run/mo.sock"] {
        assert!(Listen::parse(text).is_ok(), "{text}");
    }
    let long = format!("unix:/{}", "a".repeat(104));
    for text in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "example.org:80", "unix:sock", "70000", "", &long] {
        assert!(Listen::parse(text).is_err(), "{text}");
    }
    let local = |port| Listen::Loopback(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    assert_eq!(read(r#"{"listen": 34571}"#).unwrap().listen, local(34571));
    for number in ["70000", "-1", "1.5", "1e3", "true"] {
        assert!(read(&format!("{{\"listen\": {number}}}")).is_err(), "{number}");
    }
}

#[test]
fn the_variables_of_the_earlier_system_are_understood_and_the_file_wins() {
    let variables = [
        ("CLAUDE_DUAL_PORT", "4001"),
        ("OLLAMA_HOST", "10.1.1.1:8000"),
        ("GLM_THINKING_BUDGET", "32000"),
        ("GLM_TEMPERATURE", "0.3"),
        ("RATE_LIMIT_RPM", "200"),
        ("CIRCUIT_RESET_MS", "30500"),
        ("COST_DAILY_LIMIT_USD", "100"),
        ("COMPRESS_CONTEXT", "1"),
        ("COMPRESS_KEEP_RECENT_TURNS", "12"),
        ("LOG_LEVEL", "silent"),
        ("ANTHROPIC_HOST", "evil.example"),
    ];
    let config = with(&variables, Some(r#"{"log": "warn", "limits": {"concurrent": 2}}"#)).unwrap();
    assert_eq!(config.listen, Listen::Loopback(IpAddr::V4(Ipv4Addr::LOCALHOST), 4001));
    let ollama = &config.upstreams["ollama"];
    assert_eq!(ollama.base_url.as_ref().unwrap().as_str(), "http://10.1.1.1:8000");
    let profile = &config.profiles[ollama.profile.as_deref().unwrap()];
    assert_eq!((profile.thinking, profile.temperature), (Some(Thinking::Budget(32_000)), Some(0.3)));
    assert_eq!((config.pace.per_minute, config.pace.at_once), (Some(200), Some(2)));
    assert_eq!(config.breaking.open, Duration::from_millis(30_500));
    assert_eq!((config.log, config.compressing.unwrap().keep), (Log::Warn, 12));
    let env: Env = variables.iter().copied().collect();
    assert_eq!(without_meaning(&env).len(), 1);
    for (value, url) in [
        ("myhost", "http://myhost:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("https://o.example", "https://o.example"),
        ("http://o.example:9/", "http://o.example:9"),
    ] {
        let config = with(&[("OLLAMA_HOST", value)], None).unwrap();
        assert_eq!(config.upstreams["ollama"].base_url.as_ref().unwrap().as_str(), url);
    }
}

#[test]
fn a_variable_that_is_no_number_is_a_mistake() {
    for (name, value) in [
        ("CLAUDE_DUAL_PORT", "http"),
        ("CLAUDE_DUAL_HOST", "0.0.0.0"),
        ("RATE_LIMIT_RPM", "NaN"),
        ("GLM_TEMPERATURE", "NaN"),
        ("COST_DAILY_LIMIT_USD", "inf"),
        ("RETRY_MAX", "-1"),
        ("MAX_REQUEST_BYTES", "10MB"),
        ("OLLAMA_HOST", "a b"),
        ("LOG_LEVEL", "loud"),
    ] {
        let mistakes = with(&[(name, value)], Some("{\"nonsense\": 1}")).unwrap_err();
        assert!(mistakes[0].starts_with(&format!("{name}: ")), "{mistakes:?}");
        assert_eq!(mistakes.len(), 2, "{mistakes:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]
    #[test]
    fn no_damage_makes_it_panic_or_forget_a_line(
        at in any::<prop::sample::Index>(), byte in any::<u8>(), how in 0..4, length in 0..40_usize
    ) {
        let mut bytes = WHOLE.as_bytes().to_vec();
        let at = at.index(bytes.len());
        match how {
            0 => bytes[at] = byte,
            1 => bytes.truncate(at),
            2 => bytes.insert(at, byte),
            _ => drop(bytes.drain(at..(at + length).min(WHOLE.len()))),
        }
        check(&bytes);
    }
}
