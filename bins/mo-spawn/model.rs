//! Which model a run may ask for: no name of Anthropic's may reach another provider.

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::tier::Tier;
use shared::worker::{Mapped, Worker};

/// Names of Claude Code's that end at a tier, whichever it is: each tier has a model, so they are safe.
const ALIASES: &[&str] = &["default", "best", "opusplan"];

/// Refuses a model that the worker does not have, before anything is sent.
pub fn check(worker: &Worker, named: &str) -> Result<()> {
    let name = plain(named);
    if name.is_empty() {
        return Err(Error::new(Exit::Usage, "the model's name is empty")
            .hint(format!("name one of its tiers: {}", tiers(worker))));
    }
    if let Some(tier) = tier(named) {
        if worker.profile.tiers.is_empty() || worker.profile.tiers.contains_key(&tier) {
            return check_mapped(worker);
        }
        let what = format!("worker `{}` has no model for the tier {tier}", worker.name);
        return Err(Error::new(Exit::Usage, what).hint(format!("its tiers are {}", tiers(worker))));
    }
    if worker.is_anthropic() || ALIASES.contains(&name) {
        return check_mapped(worker);
    }
    let is_own = worker.profile.tiers.values().any(|mapped| mapped.model == name);
    // Also as the clouds write it: us.anthropic.claude-…
    let is_anthropics =
        name.to_ascii_lowercase().split(['.', '/', ':']).any(|part| part.starts_with("claude"));
    if !is_own && is_anthropics {
        let what = format!("worker `{}` is not Anthropic's: it does not know `{name}`", worker.name);
        return Err(Error::new(Exit::Usage, what).hint(format!("name one of its tiers: {}", tiers(worker))));
    }
    Ok(())
}

/// Refuses a worker that would send Anthropic's own model names to another provider.
pub fn check_mapped(worker: &Worker) -> Result<()> {
    if worker.is_anthropic() || worker.default_model().is_some() {
        return Ok(());
    }
    Err(Error::new(Exit::Config, format!("worker `{}` has no model for any tier", worker.name)).hint(
        format!(
            "set ANTHROPIC_DEFAULT_SONNET_MODEL in {}, or make the worker anew with --sonnet MODEL",
            worker.settings.path().display()
        ),
    ))
}

/// What is known of the model that does the work.
pub fn known<'a>(worker: &'a Worker, named: Option<&str>) -> Option<&'a Mapped> {
    let Some(named) = named else { return worker.default_model() };
    match tier(named) {
        Some(tier) => worker.profile.tiers.get(&tier),
        None => worker.profile.tiers.values().find(|mapped| mapped.model == plain(named)),
    }
}

/// The tier that this name means, if it means one.
pub fn tier(named: &str) -> Option<Tier> {
    Tier::named(plain(named))
}

/// The name without Claude Code's mark for the long window, as in `opus[1m]`.
fn plain(named: &str) -> &str {
    named.split('[').next().unwrap_or(named)
}

fn tiers(worker: &Worker) -> String {
    let mapped = worker.profile.tiers.iter().map(|(tier, mapped)| format!("{tier} ({})", mapped.model));
    mapped.collect::<Vec<_>>().join(", ")
}
