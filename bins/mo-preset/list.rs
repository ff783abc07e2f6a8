//! `mo-preset list`: all presets, one a line.

use std::collections::BTreeMap;

use serde_json::json;
use shared::catalogue::{Catalogue, VERSION};
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::preset::{Origin, Preset};
use shared::table;
use shared::tier::Tier;
use shared::world::World;

/// Prints all presets.
pub fn run(world: &World, catalogue: &Catalogue, trouble: Option<&Error>, json: bool) -> Result<Exit> {
    if let Some(error) = trouble {
        world.say.error(error);
    }
    if json {
        let presets: BTreeMap<_, _> = catalogue.presets().map(|preset| (&preset.id, preset)).collect();
        let document = json!({
            "version": VERSION,
            "dated": catalogue.dated(),
            "presets": presets,
            "trouble": trouble.map(ToString::to_string),
        });
        return world.say.line(&format!("{document:#}")).map(|()| Exit::Done);
    }
    world.say.out(&table::columns(&rows(catalogue), world.colour()))?;
    if world.terminal.stdout {
        world.say.aside(&format!(
            "\nThe bundled presets were checked on {}. `mo-preset show ID` tells more of one.\n",
            catalogue.dated()
        ));
    }
    Ok(Exit::Done)
}

fn rows(catalogue: &Catalogue) -> Vec<Vec<String>> {
    let any_own = catalogue.presets().any(|preset| preset.origin != Origin::Bundled);
    let mut rows = vec![["ID", "NAME", "BASE URL", "MODELS"].map(str::to_owned).to_vec()];
    for preset in catalogue.presets() {
        rows.push(vec![preset.id.clone(), preset.label.clone(), preset.base_url.to_string(), models(preset)]);
    }
    if any_own {
        let from = catalogue.presets().map(|preset| origin(preset.origin));
        for (row, cell) in rows.iter_mut().zip(std::iter::once("FROM").chain(from)) {
            row.insert(1, cell.to_owned());
        }
    }
    rows
}

/// Where an entry comes from, in words.
pub fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Bundled => "bundled",
        Origin::Own => "own",
        Origin::OwnOverBundled => "own, over the bundled one",
    }
}

/// The models with the tiers they serve, largest tier first.
pub fn models(preset: &Preset) -> String {
    let mut served: Vec<(&str, Vec<&str>)> = Vec::new();
    for tier in Tier::ALL {
        let Some(model) = preset.tiers.get(&tier) else { continue };
        match served.iter_mut().find(|(name, _)| name == model) {
            Some((_, tiers)) => tiers.push(tier.name()),
            None => served.push((model, vec![tier.name()])),
        }
    }
    if served.is_empty() {
        return "(yours to map)".to_owned();
    }
    let words: Vec<_> =
        served.iter().map(|(model, tiers)| format!("{model} ({})", tiers.join(", "))).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::base_url::BaseUrl;

    #[test]
    fn a_model_stands_once_with_all_its_tiers() {
        let mut preset = Preset::new("x", BaseUrl::parse("https://h").unwrap().url).unwrap();
        assert_eq!(models(&preset), "(yours to map)");
        for (tier, model) in [(Tier::Haiku, "small"), (Tier::Opus, "big"), (Tier::Sonnet, "big")] {
            preset.tiers.insert(tier, model.to_owned());
        }
        assert_eq!(models(&preset), "big (opus, sonnet), small (haiku)");
    }
}
