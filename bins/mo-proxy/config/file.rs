//! The document itself: what is on its top level, and what holds across its parts.

use std::path::Path;

use shared::nearest::nearest;
use shared::redact::typed;

use super::mistake::Mistake;
use super::reader::{Reader, Text};
use super::{Config, Listen, Log, VERSION, figures, names};

const KNOWN: [&str; 19] = [
    "$schema",
    "version",
    "listen",
    "ca_file",
    "upstreams",
    "rules",
    "default",
    "roles",
    "profiles",
    "limits",
    "breaker",
    "retry",
    "daily_limit",
    "audit",
    "timeouts",
    "max_body_mb",
    "log",
    "markers",
    "compress",
];

/// Reads the file over what is there, and tells all that is wrong with it.
pub fn read(path: &Path, bytes: &[u8], config: &mut Config) -> Vec<Mistake> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return vec![Mistake::on_line(path, 1, "it is not valid UTF-8")];
    };
    let mut reader = Reader::new(path, text.trim_start_matches('\u{feff}'));
    if let Some(value) = reader.parsed()
        && let Some(top) = reader.part(&value, "", &KNOWN)
    {
        if let Some(version) = top.whole(&mut reader, "version", 0..=u64::MAX)
            && version != VERSION
        {
            let what = format!("version {version} is not one this program knows: update model-orchestration");
            reader.wrong(top.at(), what);
        }
        if let Some(text) = top.text_or_number(&mut reader, "listen") {
            match Listen::parse(&text.text) {
                Ok(listen) => config.listen = listen,
                Err(what) => reader.wrong(text.at, format!("`listen` {what}")),
            }
        }
        if let Some(text) = top.text(&mut reader, "ca_file") {
            absolute(&mut reader, &text, "ca_file");
            config.ca_file = Some(text.text.into());
        }
        if let Some(text) = top.text(&mut reader, "log") {
            match Log::parse(&text.text) {
                Some(log) => config.log = log,
                None => reader.wrong(text.at, format!("`log` must be one of {}", Log::NAMES.join(", "))),
            }
        }
        names::read(&mut reader, &top, config);
        figures::read(&mut reader, &top, config);
        profiles_are_there(&mut reader, config);
    }
    let mut mistakes = reader.mistakes;
    mistakes.sort();
    mistakes
}

fn absolute(reader: &mut Reader<'_>, text: &Text, name: &str) {
    if !Path::new(&text.text).is_absolute() {
        reader.wrong(text.at, format!("`{name}` must be an absolute path"));
    }
}

/// Every profile that something names exists.
fn profiles_are_there(reader: &mut Reader<'_>, config: &Config) {
    let mut named: Vec<(&str, usize)> = Vec::new();
    named.extend(config.rules.iter().filter_map(|rule| Some((rule.profile.as_deref()?, rule.to.line))));
    named.extend(config.roles.values().filter_map(|role| Some((role.profile.as_deref()?, role.line))));
    named.extend(config.upstreams.values().filter_map(|own| Some((own.profile.as_deref()?, own.line))));
    for (name, line) in named {
        if !config.profiles.contains_key(name) {
            let hint = match nearest(name, config.profiles.keys().map(String::as_str)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "it must stand in `profiles`".to_owned(),
            };
            reader.wrong_on(line, format!("there is no profile `{}`; {hint}", typed(name)));
        }
    }
}
