//! One worker on a screen: where it is, how it is reached, which model serves which tier.

use serde_json::json;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::name::Name;
use shared::paths;
use shared::profile::USUAL_LIMIT;
use shared::tier::Tier;
use shared::worker::{Key, Worker};
use shared::world::World;

use crate::shown;
use crate::standing::Standing;

/// Prints the worker.
pub fn run(world: &World, name: &Name, as_json: bool) -> Result<Exit> {
    let worker = Worker::load(&world.paths, name)?;
    let standing = Standing::of(world, &worker);
    let text = if as_json { document(&worker, &standing)? } else { screen(world, &worker, &standing) };
    world.say.out(&text)?;
    Ok(Exit::Done)
}

fn key(worker: &Worker) -> String {
    match worker.key() {
        Key::Stored(key) => format!("stored, {}", key.masked()),
        Key::Command(command) => {
            format!("printed by: {}", flatten(command.last().map_or("", String::as_str), 80))
        }
        Key::Login => "none: Claude Code's own login".to_owned(),
        Key::Missing => format!("none yet: `mo-key {}`", worker.name),
    }
}

fn screen(world: &World, worker: &Worker, standing: &Standing) -> String {
    let profile = &worker.profile;
    let none = || "-".to_owned();
    let mut rows = vec![
        ("name", worker.name.to_string()),
        ("state", standing.text(worker)),
        ("kind", profile.kind.name().to_owned()),
        ("preset", profile.preset.clone().unwrap_or_else(none)),
        ("endpoint", shown::endpoint(worker)),
        ("auth", profile.auth.to_string()),
        ("key", key(worker)),
        (
            "plan",
            if profile.flat_plan { "flat: tokens cost nothing extra" } else { "paid by use" }.to_owned(),
        ),
        ("at once", at_once(profile.max_parallel)),
        ("directory", paths::shown(&worker.directory, &world.paths)),
        ("preferred", if profile.preferred { "yes" } else { "no" }.to_owned()),
        ("run", format!("mo-spawn {} -p 'TASK'", worker.name)),
    ];
    if let Standing::Account(login) = standing {
        let who = login.email.as_deref().map(|email| format!(", {email}")).unwrap_or_default();
        rows.push(("login", format!("{}{who}", login.text())));
    }
    if let Some(directory) = &profile.config_dir {
        rows.push(("account in", paths::shown(directory, &world.paths)));
    }
    if let (true, Some(tier)) = (profile.tiers.is_empty(), profile.default_tier) {
        rows.push(("tier", tier.to_string()));
    }
    for (tier, mapped) in &profile.tiers {
        let window = mapped.context_window.map(|tokens| format!("  window {tokens}")).unwrap_or_default();
        let output = mapped.max_output.map(|tokens| format!("  output {tokens}")).unwrap_or_default();
        let default = if Some(*tier) == profile.default_tier { "  default" } else { "" };
        rows.push((tier.name(), format!("{}{window}{output}{default}", flatten(&mapped.model, 80))));
    }
    if let Some(check) = &profile.last_check {
        let tiers = check
            .tiers
            .iter()
            .map(|(tier, one)| format!("{tier}: {} ({} ms)", flatten(&one.kind, 20), one.ms));
        let version = check.claude_version.as_deref().unwrap_or("?");
        let tiers = tiers.collect::<Vec<_>>().join(", ");
        rows.push(("checked", format!("{} with Claude Code {}: {tiers}", check.at, flatten(version, 20))));
    }
    let width = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    rows.iter().map(|(label, text)| format!("{label:width$}  {text}\n")).collect()
}

fn at_once(limit: Option<u32>) -> String {
    limit.map_or_else(|| format!("{USUAL_LIMIT} tasks of mo-dispatch"), |limit| limit.to_string())
}

fn document(worker: &Worker, standing: &Standing) -> Result<String> {
    let mut document = serde_json::to_value(&worker.profile)
        .map_err(|error| Error::new(Exit::Bug, "cannot write JSON").caused_by(error))?;
    if let Some(fields) = document.as_object_mut() {
        fields.insert("name".into(), json!(worker.name.as_str()));
        fields.insert("version".into(), json!(1));
        fields.insert("state".into(), json!(standing.word(worker)));
        fields.insert("base_url".into(), json!(worker.base_url()));
        fields.insert("directory".into(), json!(worker.directory));
        let models: serde_json::Map<_, _> = Tier::ALL
            .into_iter()
            .filter_map(|tier| Some((tier.name().to_owned(), json!(worker.settings.get(tier.variable())?))))
            .collect();
        fields.insert("models_in_settings".into(), models.into());
    }
    Ok(format!("{document:#}\n"))
}
