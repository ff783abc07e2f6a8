//! What a new worker is to be: the preset with the command line's flags laid over it. Nothing is written here.

use std::collections::BTreeMap;

use shared::args::{Flag, Matches};
use shared::auth::Auth;
use shared::base_url::BaseUrl;
use shared::catalogue::Catalogue;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::model;
use shared::preset::Preset;
use shared::redact::typed;
use shared::tier::Tier;
use shared::worker::{Mapped, first_mapped};

/// The flags of `create`.
pub const FLAGS: &[Flag] = &[
    Flag { long: "preset", value: "ID", about: "a provider of the catalogue (`mo-preset list`)" },
    Flag { long: "base-url", value: "URL", about: "any endpoint that speaks Anthropic's Messages API" },
    Flag { long: "fable", value: "MODEL", about: "the model for the tier fable" },
    Flag { long: "opus", value: "MODEL", about: "the model for the tier opus" },
    Flag { long: "sonnet", value: "MODEL", about: "the model for the tier sonnet" },
    Flag { long: "haiku", value: "MODEL", about: "the model for the tier haiku" },
    Flag {
        long: "default-tier",
        value: "TIER",
        about: "the tier for all that is not mapped (default: sonnet, else the first)",
    },
    Flag {
        long: "context-window",
        value: "TIER=N",
        about: "the model's window in tokens, like sonnet=200k (can be repeated)",
    },
    Flag { long: "auth", value: "KIND", about: "how the key is sent: bearer or x-api-key" },
    Flag { long: "max-parallel", value: "N", about: "the most it may run at once" },
    Flag { long: "account", value: "", about: "the worker is a Claude account that Claude Code logs in" },
    Flag { long: "config-dir", value: "DIR", about: "an account's directory (default: ~/.claude-NAME)" },
    Flag { long: "tier", value: "TIER", about: "the tier an account works at where nobody names one" },
];

/// A worker to be.
#[derive(Debug)]
pub struct Plan {
    /// The preset's id.
    pub preset: Option<String>,
    /// Where the provider is.
    pub base_url: BaseUrl,
    /// What was done to the URL that was typed.
    pub remark: Option<String>,
    /// How it takes the key.
    pub auth: Auth,
    /// The mapped tiers.
    pub tiers: BTreeMap<Tier, Mapped>,
    /// The tier for all others.
    pub default_tier: Tier,
    /// Switches that the provider needs.
    pub env: BTreeMap<String, String>,
    /// What a server of the user's own takes for a key.
    pub placeholder_key: Option<String>,
    /// Where to get a key.
    pub key_url: Option<String>,
    /// Paid by the month.
    pub flat_plan: bool,
    /// The most at once.
    pub max_parallel: Option<u32>,
}

impl Plan {
    /// Lays the flags over the preset.
    pub fn of(catalogue: &Catalogue, matches: &Matches) -> Result<Self> {
        let preset = matches.value("preset").map(|id| find(catalogue, id)).transpose()?;
        let typed = matches.value("base-url").map(BaseUrl::parse).transpose()?;
        let remark = typed.as_ref().and_then(shared::base_url::Normalised::remark);
        let base_url = match (typed, preset) {
            (Some(typed), _) => typed.url,
            (None, Some(preset)) => preset.base_url.clone(),
            (None, None) => return Err(nowhere()),
        };
        let tiers = tiers(preset, matches)?;
        let default_tier = default_tier(&tiers, matches)?;
        let own_auth = if base_url.is_anthropic() { Auth::XApiKey } else { Auth::Bearer };
        Ok(Self {
            auth: match matches.value("auth") {
                Some(name) => Auth::parse(name)?,
                None => preset.map_or(own_auth, |preset| preset.auth),
            },
            preset: preset.map(|preset| preset.id.clone()),
            env: preset.map(|preset| preset.env.clone()).unwrap_or_default(),
            placeholder_key: preset.and_then(|preset| preset.placeholder_key.clone()),
            key_url: preset.and_then(|preset| preset.key_url.clone()),
            flat_plan: preset.is_some_and(|preset| preset.flat_plan),
            max_parallel: max_parallel(matches)?,
            base_url,
            remark,
            tiers,
            default_tier,
        })
    }
}

fn find<'a>(catalogue: &'a Catalogue, id: &str) -> Result<&'a Preset> {
    catalogue.get(id).ok_or_else(|| {
        let ids: Vec<_> = catalogue.ids().collect();
        Error::new(Exit::Usage, format!("there is no preset `{}`", typed(id)))
            .hint(format!("the presets are {}; or name the endpoint with --base-url", ids.join(", ")))
    })
}

fn nowhere() -> Error {
    Error::new(Exit::Usage, "which provider? name a preset or an endpoint")
        .hint("--preset ID (`mo-preset list` shows them) or --base-url URL with --sonnet MODEL")
}

fn tiers(preset: Option<&Preset>, matches: &Matches) -> Result<BTreeMap<Tier, Mapped>> {
    let mut tiers = BTreeMap::new();
    for tier in Tier::ALL {
        let given = matches.value(tier.name());
        let model = given.or_else(|| preset.and_then(|preset| preset.tiers.get(&tier)).map(String::as_str));
        let Some(name) = model else { continue };
        model::check_name(name)?;
        let known = preset.and_then(|preset| preset.models.get(name)).cloned().unwrap_or_default();
        let mapped = Mapped {
            model: name.to_owned(),
            context_window: known.context_window,
            max_output: known.max_output,
        };
        tiers.insert(tier, mapped);
    }
    for given in matches.values("context-window") {
        let wrong = || {
            Error::new(Exit::Usage, format!("--context-window `{}` is not TIER=N", typed(given)))
                .hint("write it like sonnet=200k")
        };
        let (tier, number) = given.split_once('=').ok_or_else(wrong)?;
        let tier = Tier::parse(tier)?;
        let mapped = tiers.get_mut(&tier).ok_or_else(|| {
            Error::new(Exit::Usage, format!("--context-window names the tier {tier}, which has no model"))
                .hint(format!("map it with --{tier} MODEL"))
        })?;
        mapped.context_window = Some(model::tokens(number)?);
    }
    Ok(tiers)
}

fn default_tier(tiers: &BTreeMap<Tier, Mapped>, matches: &Matches) -> Result<Tier> {
    if let Some(name) = matches.value("default-tier") {
        let tier = Tier::parse(name)?;
        if tiers.contains_key(&tier) {
            return Ok(tier);
        }
        return Err(Error::new(Exit::Usage, format!("the default tier {tier} has no model"))
            .hint(format!("map it with --{tier} MODEL")));
    }
    first_mapped(tiers).ok_or_else(|| {
        Error::new(Exit::Usage, "no model is mapped: the provider does not know Anthropic's names")
            .hint("name at least one, like --sonnet MODEL; `mo-preset probe` lists what a local server has")
    })
}

/// The most at once, where the command line says it.
pub fn max_parallel(matches: &Matches) -> Result<Option<u32>> {
    let Some(given) = matches.value("max-parallel") else { return Ok(None) };
    let number = given.parse().ok().filter(|number| (1..=1000).contains(number));
    number.map(Some).ok_or_else(|| {
        let what = format!("--max-parallel `{}` is no number from 1 to 1000", typed(given));
        Error::new(Exit::Usage, what)
    })
}
