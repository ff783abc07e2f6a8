//! The members that name things: upstreams, rules, the default, roles, profiles.
//! Whether an upstream of that name exists is known only with the workers, so `route` looks.

use std::collections::BTreeMap;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use shared::auth::Auth;
use shared::base_url::BaseUrl;
use shared::model::{self, Model};
use shared::preset;
use shared::redact::typed;

use super::reader::{Part, Reader, Text};
use super::{Config, Fallback, Pattern, Profile, Role, Rule, Target, Thinking, Upstream, figures};

/// The least budget that an upstream takes for thinking.
pub const LEAST_THINKING: u64 = 1_024;
/// The most tokens that anything here can be said to have.
const MOST: u64 = 10_000_000;
/// How the names of roles begin, where a model is named.
pub const ROLE: &str = "mo-";
/// The upstream that is Anthropic, by the client's own login.
pub const ANTHROPIC: &str = "anthropic";

/// Whether only Anthropic has a model of this name.
pub fn is_anthropics(model: &str) -> bool {
    model.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("claude-"))
}

/// Reads them all.
pub fn read<'t>(reader: &mut Reader<'t>, top: &Part<'_, 't>, config: &mut Config) {
    if let Some(part) = top.part(reader, "upstreams", &[]) {
        for (name, at, value) in part.members() {
            upstream(reader, config, &part, name, at, value);
        }
    }
    if let Some(part) = top.part(reader, "profiles", &[]) {
        for (name, at, value) in part.members() {
            if let Some(profile) = profile(reader, value, &part.called(&typed(name))) {
                check_id(reader, name, at, "a profile");
                config.profiles.insert(name.to_owned(), profile);
            }
        }
    }
    rules(reader, top, config);
    if let Some(text) = top.text(reader, "default") {
        config.default = target(reader, &text, "default");
    }
    if let Some(part) = top.part(reader, "roles", &[]) {
        for (name, at, value) in part.members() {
            let called = part.called(&typed(name));
            if let Some(role) = role(reader, value, &called) {
                check_id(reader, name, at, "a role");
                config.roles.insert(name.to_owned(), Role { line: reader.line(at), ..role });
            }
        }
    }
}

fn check_id(reader: &mut Reader<'_>, name: &str, at: usize, what: &str) {
    if preset::check_id(name).is_err() {
        let what =
            format!("`{}` cannot be {what}'s name: a-z, 0-9 and -, a letter or digit first", typed(name));
        reader.wrong(at, what);
    }
}

fn upstream<'t>(
    reader: &mut Reader<'t>,
    config: &mut Config,
    all: &Part<'_, 't>,
    name: &str,
    at: usize,
    value: &Value<'t>,
) {
    let called = all.called(&typed(name));
    let known = ["base_url", "auth", "worker", "profile", "models", "keeps", "betas", "limits", "flat_plan"];
    if let Value::Object(object) = value
        && let Some(key) = object.properties.iter().find(|member| {
            let name = member.name.as_str().to_lowercase();
            ["key", "token", "secret", "password"].iter().any(|word| name.contains(word))
        })
    {
        let what = format!(
            "`{called}` holds a key: keys stay with their worker; store it with mo-key, name the `worker`"
        );
        reader.wrong(key.range.start, what);
        // It is there, so that what leads to it is no mistake of its own.
        let own = Upstream { line: reader.line(at), ..Upstream::default() };
        config.upstreams.insert(name.to_owned(), own);
        return;
    }
    check_id(reader, name, at, "an upstream");
    let Some(part) = reader.part(value, &called, &known) else { return };
    let mut own = config.upstreams.remove(name).unwrap_or_default();
    own.line = reader.line(at);
    if let Some(url) = part.text(reader, "base_url") {
        match BaseUrl::parse(&url.text) {
            Ok(parsed) => own.base_url = Some(parsed.url),
            Err(refusal) => reader.wrong(url.at, format!("`{called}`: {refusal}; {}", refusal.hint())),
        }
    }
    if let Some(auth) = part.text(reader, "auth") {
        match Auth::parse(&auth.text) {
            Ok(auth) => own.auth = Some(auth),
            Err(error) => reader.wrong(auth.at, format!("`{called}`: {error}; it is bearer or x-api-key")),
        }
    }
    own.worker = part.text(reader, "worker").map(|worker| worker.text).or(own.worker);
    own.profile = part.text(reader, "profile").map(|profile| profile.text).or(own.profile);
    own.keeps.extend(part.texts(reader, "keeps").into_iter().map(|text| text.text));
    own.betas.extend(part.texts(reader, "betas").into_iter().map(|text| text.text));
    own.flat_plan = part.switch(reader, "flat_plan").or(own.flat_plan);
    if let Some(value) = part.value("limits") {
        own.pace = Some(figures::pace(reader, value, &part.called("limits"), own.pace.unwrap_or_default()));
    }
    models(reader, &part, &mut own.models);
    if name == ANTHROPIC && (own.base_url.is_some() || own.worker.is_some() || own.auth.is_some()) {
        reader.wrong(
            at,
            "`anthropic` is Anthropic by the client's own login: no other place or key can be named"
                .to_owned(),
        );
    }
    config.upstreams.insert(name.to_owned(), own);
}

fn models<'t>(reader: &mut Reader<'t>, part: &Part<'_, 't>, models: &mut BTreeMap<String, Model>) {
    let Some(all) = part.part(reader, "models", &[]) else { return };
    for (name, at, value) in all.members() {
        let Some(one) = reader.part(value, &all.called(&typed(name)), &["max_output", "context_window"])
        else {
            continue;
        };
        if model::check_name(name).is_err() {
            reader.wrong(at, format!("`{}` cannot be a model's name", typed(name)));
            continue;
        }
        let known = Model {
            max_output: one.whole(reader, "max_output", 1..=MOST),
            context_window: one.whole(reader, "context_window", 1..=MOST),
            unverified: None,
        };
        models.insert(name.to_owned(), known);
    }
}

fn profile<'t>(reader: &mut Reader<'t>, value: &Value<'t>, called: &str) -> Option<Profile> {
    let part = reader.part(value, called, &["max_tokens", "floor", "thinking", "temperature"])?;
    let thinking = match part.value("thinking") {
        None => None,
        Some(Value::StringLit(word)) if word.value == "off" => Some(Thinking::Off),
        Some(Value::NumberLit(_)) => {
            part.whole(reader, "thinking", LEAST_THINKING..=MOST).map(Thinking::Budget)
        }
        Some(other) => {
            reader.wrong(other.start(), format!("`{called}.thinking` must be a number of tokens or \"off\""));
            None
        }
    };
    let profile = Profile {
        max_tokens: part.whole(reader, "max_tokens", 1..=MOST),
        floor: part.whole(reader, "floor", 1..=MOST),
        thinking,
        temperature: part.number(reader, "temperature", 0.0..=2.0),
    };
    if let (Some(floor), Some(most)) = (profile.floor, profile.max_tokens)
        && floor > most
    {
        reader.wrong(part.at(), format!("`{called}`: floor {floor} is above max_tokens {most}"));
    }
    Some(profile)
}

fn rules<'t>(reader: &mut Reader<'t>, top: &Part<'_, 't>, config: &mut Config) {
    let Some(value) = top.value("rules") else { return };
    let Value::Array(array) = value else {
        reader.wrong(value.start(), "`rules` must be a list".to_owned());
        return;
    };
    for (at, element) in array.elements.iter().enumerate() {
        let called = format!("rules[{at}]");
        let Some(part) = reader.part(element, &called, &["model", "to", "profile"]) else { continue };
        let pattern = part.text(reader, "model").and_then(|text| pattern(reader, &text, &called));
        let to = part.text(reader, "to").and_then(|text| target(reader, &text, &called));
        for key in ["model", "to"] {
            if part.value(key).is_none() {
                reader.wrong(part.at(), format!("`{called}` lacks `{key}`"));
            }
        }
        let profile = part.text(reader, "profile").map(|text| text.text);
        if let (Some(pattern), Some(to)) = (pattern, to) {
            if let Some(earlier) = config.rules.iter().position(|rule| rule.pattern.covers(&pattern)) {
                let earlier = config.rules.get(earlier).map_or(0, |rule| rule.to.line);
                reader.wrong(
                    part.at(),
                    format!("`{called}` is never reached: line {earlier} takes all its names"),
                );
            }
            config.rules.push(Rule { pattern, to, profile });
        }
    }
}

fn pattern(reader: &mut Reader<'_>, text: &Text, called: &str) -> Option<Pattern> {
    let typed = typed(&text.text);
    let pattern = match (text.text.strip_suffix('*'), text.text.strip_prefix('*')) {
        (Some(start), _) => Pattern::Prefix(start.to_owned()),
        (None, Some(end)) => Pattern::Suffix(end.to_owned()),
        (None, None) => Pattern::Exact(text.text.clone()),
    };
    let (Pattern::Exact(word) | Pattern::Prefix(word) | Pattern::Suffix(word)) = &pattern;
    let trouble = if word.contains('*') {
        "one `*`, at its start or its end, is all a pattern may have"
    } else if word.is_empty() {
        "a rule for every name is `default`"
    } else if word.contains(',') {
        "a name with a comma names its upstream itself"
    } else if is_anthropics(word) && !matches!(pattern, Pattern::Suffix(_)) {
        "names that begin with claude- always go to Anthropic, untouched"
    } else if word.starts_with(ROLE) && !matches!(pattern, Pattern::Suffix(_)) {
        "names that begin with mo- are roles: say it in `roles`"
    } else if word.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        "no model's name has white space"
    } else {
        return Some(pattern);
    };
    reader.wrong(text.at, format!("`{called}.model` cannot be `{typed}`: {trouble}"));
    None
}

/// `upstream` or `upstream,model`.
fn target(reader: &mut Reader<'_>, text: &Text, called: &str) -> Option<Target> {
    let (upstream, model) = match text.text.split_once(',') {
        Some((upstream, model)) => (upstream.trim(), Some(model.trim())),
        None => (text.text.trim(), None),
    };
    let refused = if preset::check_id(upstream).is_err() {
        "an upstream's name has a-z, 0-9 and -; write `upstream` or `upstream,model`"
    } else if model.is_some_and(|model| model::check_name(model).is_err() || model.contains(',')) {
        "that cannot be a model's name"
    } else if upstream == ANTHROPIC && !model.is_some_and(is_anthropics) {
        "Anthropic has only models whose names begin with claude-; write `anthropic,claude-…`"
    } else {
        let line = reader.line(text.at);
        return Some(Target { upstream: upstream.to_owned(), model: model.map(str::to_owned), line });
    };
    reader.wrong(text.at, format!("`{called}` cannot lead to `{}`: {refused}", typed(&text.text)));
    None
}

fn role<'t>(reader: &mut Reader<'t>, value: &Value<'t>, called: &str) -> Option<Role> {
    if let Value::StringLit(text) = value {
        let text = Text { text: text.value.to_string(), at: text.range.start };
        let to = target(reader, &text, called)?;
        return Some(Role { to, profile: None, fallback: Vec::new(), line: 0 });
    }
    let part = reader.part(value, called, &["to", "profile", "fallback"])?;
    if part.value("to").is_none() {
        reader.wrong(part.at(), format!("`{called}` lacks `to`"));
    }
    let to = part.text(reader, "to").and_then(|text| target(reader, &text, called));
    let profile = part.text(reader, "profile").map(|text| text.text);
    let mut fallback = Vec::new();
    for text in part.texts(reader, "fallback") {
        match text.text.strip_prefix(ROLE) {
            Some(other) => fallback.push(Fallback::Role(other.to_owned(), reader.line(text.at))),
            None => fallback.extend(target(reader, &text, called).map(Fallback::To)),
        }
    }
    Some(Role { to: to?, profile, fallback, line: 0 })
}
