//! `mo-preset show`: all that is known of one preset.

use serde_json::json;
use shared::catalogue::{Catalogue, VERSION};
use shared::digits::grouped;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::preset::Preset;
use shared::table::HEADING;
use shared::tier::Tier;
use shared::world::World;

use crate::list;

/// Prints one preset.
pub fn run(
    world: &World,
    catalogue: &Catalogue,
    trouble: Option<&Error>,
    id: &str,
    json: bool,
) -> Result<Exit> {
    let preset = found(world, catalogue, trouble, id)?;
    if json {
        let document = json!({ "version": VERSION, "id": preset.id, "preset": preset });
        return world.say.line(&format!("{document:#}")).map(|()| Exit::Done);
    }
    let title = format!("{} - {}", preset.id, preset.label);
    let title = if world.colour() { format!("{HEADING}{title}{HEADING:#}") } else { title };
    let mut text = format!("{title}\n");
    let rows = rows(preset);
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in rows {
        text.push_str(format!("  {name:width$}  {value}").trim_end());
        text.push('\n');
    }
    world.say.out(&text).map(|()| Exit::Done)
}

/// The preset; where there is none, a broken file of the user's is the likelier reason.
pub fn found<'a>(
    world: &World,
    catalogue: &'a Catalogue,
    trouble: Option<&Error>,
    id: &str,
) -> Result<&'a Preset> {
    match (catalogue.find(id), trouble) {
        (Err(missing), Some(error)) => {
            world.say.error(error);
            Err(missing)
        }
        (found, Some(error)) => {
            world.say.error(error);
            found
        }
        (found, None) => found,
    }
}

fn rows(preset: &Preset) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
    row("from", list::origin(preset.origin).to_owned());
    row("base url", preset.base_url.to_string());
    row("auth", preset.auth.to_string());
    match (&preset.key_url, &preset.placeholder_key) {
        (Some(url), _) => row("key from", flatten(url, 200)),
        (None, Some(word)) => {
            row("key", format!("none is needed; the word `{}` stands in", flatten(word, 60)));
        }
        (None, None) => {}
    }
    for tier in Tier::ALL {
        if let Some(model) = preset.tiers.get(&tier) {
            row(tier.name(), format!("{model}{}", limits(preset, model)));
        }
    }
    if preset.tiers.is_empty() {
        row("models", list::models(preset));
    }
    for name in preset.models.keys().filter(|name| !preset.tiers.values().any(|mapped| mapped == *name)) {
        row("also", format!("{name}{}", limits(preset, name)));
    }
    for (name, value) in &preset.env {
        row("sets", format!("{name}={}", flatten(value, 200)));
    }
    if preset.flat_plan {
        row("billing", "a flat plan: no dollar limit applies".to_owned());
    }
    if !preset.notes.is_empty() {
        row("notes", preset.notes.clone());
    }
    let unverified = preset.models.values().filter_map(|model| model.unverified.as_ref());
    let mut unverified: Vec<_> =
        preset.unverified.iter().chain(unverified).map(|why| flatten(why, 300)).collect();
    unverified.dedup();
    for why in unverified {
        row("unverified", why);
    }
    if let Some(day) = &preset.verified {
        row("verified", flatten(day, 20));
    }
    for source in &preset.sources {
        row("source", flatten(source, 200));
    }
    rows
}

/// What is known of a model's limits, in brackets.
fn limits(preset: &Preset, name: &str) -> String {
    let Some(model) = preset.models.get(name) else { return String::new() };
    let window = model.context_window.map(|tokens| format!("window {}", grouped(tokens.into())));
    let output = model.max_output.map(|tokens| format!("output {}", grouped(tokens.into())));
    let known: Vec<String> = window.into_iter().chain(output).collect();
    if known.is_empty() { String::new() } else { format!("  ({} tokens)", known.join(", ")) }
}
