//! What a request loses or gets on a way, told before there is one: for `mo-proxy explain`.

use crate::config::Thinking;
use crate::route::{Leg, Way};

/// The changes on this leg, in words. To Anthropic nothing changes but a name of ours.
pub fn outline(leg: &Leg) -> Vec<String> {
    let Way::Provider(provider) = &leg.way else { return Vec::new() };
    let mut told = Vec::new();
    let profile = leg.profile.as_deref();
    let ceiling = provider.ceiling(&leg.model);
    let most = [ceiling, profile.and_then(|profile| profile.max_tokens)].into_iter().flatten().min();
    told.extend(most.map(|most| format!("max_tokens: at most {most}")));
    if let Some(floor) = profile.and_then(|profile| profile.floor) {
        told.push(format!("max_tokens: at least {floor}"));
    }
    told.push(match profile.and_then(|profile| profile.thinking) {
        Some(Thinking::Off) => "thinking: off".to_owned(),
        Some(Thinking::Budget(tokens)) => format!("thinking: {tokens} tokens, unless the caller wants none"),
        None => "thinking: `adaptive` becomes a budget".to_owned(),
    });
    if let Some(temperature) = profile.and_then(|profile| profile.temperature) {
        told.push(format!("temperature: {temperature} where none is said and nothing thinks"));
    }
    told.push(
        "left out: metadata, the billing line, thinking of others, what only Anthropic knows".to_owned(),
    );
    let betas = if provider.betas.is_empty() { "none".to_owned() } else { provider.betas.join(", ") };
    told.push(format!("headers: no login, no cookie; betas: {betas}"));
    told
}
