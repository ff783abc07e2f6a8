//! What must hold for any bytes as a configuration: the fuzz target `config` and the tests ask it alike.

use std::path::Path;

use shared::env::Env;

use crate::config::names::is_anthropics;
use crate::config::{Config, Fallback, Listen};

/// Never a panic; a mistake has a line that is there; what is accepted listens on this machine alone and names no
/// model of Anthropic's for another upstream.
pub fn check(bytes: &[u8]) {
    let lines = memchr::memchr_iter(b'\n', bytes).count() + 1;
    let (config, mistakes) = Config::read_all(&Env::default(), Path::new("/c"), Some(bytes));
    for mistake in &mistakes {
        let told = mistake.to_string();
        let line = told.strip_prefix("/c:").and_then(|rest| rest.split(':').next()).unwrap();
        assert!((1..=lines).contains(&line.parse::<usize>().unwrap()), "{told}");
    }
    if !mistakes.is_empty() {
        return;
    }
    if let Listen::Loopback(address, _) = config.listen {
        assert!(address.is_loopback());
    }
    let chains = config.roles.values().flat_map(|role| &role.fallback).filter_map(|one| match one {
        Fallback::To(target) => Some(target),
        Fallback::Role(..) => None,
    });
    let targets = config.rules.iter().map(|rule| &rule.to).chain(config.roles.values().map(|role| &role.to));
    for target in targets.chain(chains).chain(&config.default) {
        if target.upstream == "anthropic" {
            assert!(target.model.as_deref().is_some_and(is_anthropics));
        }
    }
}
