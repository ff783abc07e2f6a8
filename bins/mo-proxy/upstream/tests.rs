//! The client's login goes to Anthropic and to nobody else, whatever the configuration says.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use shared::catalogue::Catalogue;
use shared::env::Env;
use shared::paths::Paths;

use super::anthropic::Anthropic;
use super::dialer::Dialer;
use super::provider::Provider;
use crate::config::Config;
use crate::route::{Routes, Way};
use crate::wire::head::Head;

const LOGIN: &str = "the-login-of-a-subscription";
/// Places that look like Anthropic's, or are another way to it.
const PLACES: [&str; 9] = [
    "https://api.anthropic.com",
    "https://API.anthropic.com./v1",
    "https://api.anthropic.com.evil.example",
    "https://evil.example/api.anthropic.com",
    "https://notanthropic.com",
    "http://127.0.0.1:1/api.anthropic.com",
    "http://api.anthropic.com",
    "https://api.z.ai/api/anthropic",
    "http://[::1]:8080",
];
const MODELS: [&str; 8] =
    ["claude-opus-5", "Claude-x", "glm-5.2", "anthropic,claude-x", "one,m", "two,claude-x", "mo-r", "mo-one"];
const TARGETS: [&str; 6] = ["one,m", "two,m", "one,claude-x", "anthropic,claude-x", "anthropic", "two"];

/// A configuration of these pieces; many are refused, and those that are taken must hold.
fn config() -> impl Strategy<Value = String> {
    let place = prop::sample::select(&PLACES[..]);
    let target = prop::sample::select(&TARGETS[..]);
    let pattern = prop::sample::select(&["*", "glm-*", "*-x", "m", "claude-*"][..]);
    (place.clone(), place, target.clone(), target.clone(), target, pattern).prop_map(
        |(one, two, first, second, rule, pattern)| {
            format!(
                "{{\"upstreams\": {{\"one\": {{\"base_url\": \"{one}\", \"betas\": [\"fine\"]}}, \
                 \"two\": {{\"base_url\": \"{two}\", \"auth\": \"x-api-key\"}}}}, \
                 \"rules\": [{{\"model\": \"{pattern}\", \"to\": \"{rule}\"}}], \"default\": \"{second}\", \
                 \"roles\": {{\"r\": {{\"to\": \"{first}\", \"fallback\": [\"{second}\"]}}}}}}"
            )
        },
    )
}

fn head(credential: &str) -> Head {
    let text = format!(
        "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n{credential}: {LOGIN}\r\nCookie: {LOGIN}\r\n\
         anthropic-beta: {LOGIN}, fine\r\nx-claude-code-session-id: {LOGIN}\r\nX-Custom: {LOGIN}\r\n\
         x-mo-token: {LOGIN}-token\r\ncontent-length: 2\r\n\r\n"
    );
    Head::parse(text.as_bytes(), 0).unwrap().unwrap().0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn no_configuration_sends_the_login_anywhere_else(
        text in config(),
        credential in prop::sample::select(&["Authorization", "x-api-key", "X-API-KEY", "proxy-authorization"][..]),
    ) {
        let path = Path::new("/c");
        let Ok(config) = Config::read(&Env::default(), path, Some(text.as_bytes())) else { return Ok(()) };
        let catalogue = Catalogue::bundled().unwrap();
        let Ok(routes) = Routes::settle(&config, path, &catalogue, Vec::new()) else { return Ok(()) };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let dialer = Arc::new(Dialer::new(&Env::default()));
        let anthropic = Anthropic::new(Arc::clone(&dialer), None).unwrap();
        let head = head(credential);
        for asked in MODELS {
            let Ok(route) = routes.find(asked) else { continue };
            for leg in &route.legs {
                let written = match &leg.way {
                    Way::Anthropic => anthropic.outgoing(&head, 2),
                    Way::Provider(of) => {
                        let provider = Provider::new(of, &dialer, &Paths::of(&Env::default()), None);
                        runtime.block_on(provider.outgoing(&head, 2, false)).unwrap()
                    }
                };
                let (origin, bytes) = written.written();
                let words = String::from_utf8_lossy(bytes);
                prop_assert!(!words.contains("-token"));
                if leg.way == Way::Anthropic {
                    prop_assert_eq!((origin.host.as_str(), origin.https, origin.port), ("api.anthropic.com", true, 443));
                } else {
                    prop_assert!(!words.contains(LOGIN), "{} for {}: {}", text, asked, words);
                }
            }
        }
    }
}

#[test]
fn a_configuration_of_these_pieces_is_taken() {
    let text = "{\"upstreams\": {\"one\": {\"base_url\": \"https://api.anthropic.com.evil.example\"}}, \
                \"roles\": {\"r\": {\"to\": \"one,m\", \"fallback\": [\"anthropic,claude-x\"]}}}";
    let path = Path::new("/c");
    let config = Config::read(&Env::default(), path, Some(text.as_bytes())).unwrap();
    let routes = Routes::settle(&config, path, &Catalogue::bundled().unwrap(), Vec::new()).unwrap();
    assert_eq!(routes.find("mo-r").unwrap().legs.len(), 2);
}
