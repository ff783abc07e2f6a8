//! `mo-preset add`: a preset of the user's own.

use serde_json::{Map, Value, json};
use shared::args::Matches;
use shared::auth::Auth;
use shared::base_url::BaseUrl;
use shared::catalogue::Catalogue;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::model;
use shared::preset::{Origin, Preset};
use shared::tier::Tier;
use shared::world::World;

use crate::list;
use crate::own_file::OwnFile;

/// Adds the preset, and tells what was understood.
pub fn run(world: &World, catalogue: &Catalogue, matches: &Matches) -> Result<Exit> {
    let id = matches.operand(0)?;
    let url = matches.value("base-url").ok_or_else(|| {
        Error::new(Exit::Usage, "--base-url is missing")
            .hint(format!("mo-preset add {} --base-url https://api.example.com", flatten(id, 64)))
    })?;
    let parsed = BaseUrl::parse(url)?;
    let remark = parsed.remark();
    let preset = described(Preset::new(id, parsed.url)?, matches)?.checked(id, Origin::Own)?;
    let file = OwnFile::open(world)?;
    if file.has(id) {
        return Err(Error::new(Exit::CouldNot, format!("you already have a preset `{id}`"))
            .hint(format!("`mo-preset remove {id}` first, or choose another id")));
    }
    file.add(id, entry(&preset))?;
    if let Some(remark) = remark {
        world.say.note(&remark);
    }
    if !preset.base_url.is_https() && !preset.base_url.is_loopback() {
        world.say.note("warning: this is plain http to another machine: everyone on the way can read the key and the work");
    }
    if catalogue.get(id).is_some_and(|preset| preset.origin == Origin::Bundled) {
        world.say.note(&format!(
            "`{id}` now stands in the place of the bundled preset; `mo-preset remove {id}` brings that back"
        ));
    }
    world.say.line(&format!("added {id}: {}, {}", preset.base_url, list::models(&preset)))?;
    world.say.note(&format!("next: mo-preset probe {id}, then mo-worker create NAME --preset {id}"));
    Ok(Exit::Done)
}

/// The preset with what the flags say.
fn described(mut preset: Preset, matches: &Matches) -> Result<Preset> {
    for tier in Tier::ALL {
        if let Some(name) = matches.value(tier.name()) {
            preset.tiers.insert(tier, name.to_owned());
        }
    }
    for pair in matches.values("context-window") {
        let (name, tokens) = pair.rsplit_once('=').ok_or_else(|| {
            Error::new(Exit::Usage, format!("--context-window `{}` has no `=`", flatten(pair, 80)))
                .hint("write it like --context-window glm-5.2=200k")
        })?;
        let tokens = model::tokens(tokens)?;
        preset.models.entry(name.to_owned()).or_default().context_window = Some(tokens);
    }
    if let Some(auth) = matches.value("auth") {
        preset.auth = Auth::parse(auth)?;
    }
    if let Some(label) = matches.value("label") {
        label.clone_into(&mut preset.label);
    }
    if let Some(note) = matches.value("note") {
        note.clone_into(&mut preset.notes);
    }
    Ok(preset)
}

/// The entry as a person would write it: what says nothing is left out.
fn entry(preset: &Preset) -> Value {
    let mut entry = Map::new();
    let mut put = |name: &str, value: Value| {
        entry.insert(name.to_owned(), value);
    };
    put("base_url", json!(preset.base_url));
    put("auth", json!(preset.auth));
    put("label", json!(preset.label));
    put("tiers", json!(preset.tiers));
    if !preset.models.is_empty() {
        put("models", json!(preset.models));
    }
    if preset.local {
        put("local", json!(true));
    }
    if !preset.notes.is_empty() {
        put("notes", json!(preset.notes));
    }
    Value::Object(entry)
}
