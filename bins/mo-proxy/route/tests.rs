//! Tests of the routes: which name leads where, what is told of names that lead nowhere, and that the client's own
//! login has no way to anybody but Anthropic.

use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use shared::base_url::BaseUrl;
use shared::catalogue::Catalogue;
use shared::env::Env;
use shared::model::Model;
use shared::name::Name;
use shared::tier::Tier;

use super::explain::Explanation;
use super::*;
use crate::config::Config;
use crate::config::mistake::Mistake;

fn worker(name: &str, url: &str, models: &[&str]) -> Provider {
    let mut worker = Provider::at(name, BaseUrl::parse(url).unwrap().url);
    worker.key = Key::Worker(Name::parse(name).unwrap());
    for (model, tier) in models.iter().zip([Tier::Sonnet, Tier::Haiku]) {
        worker.tiers.insert(tier, (*model).to_owned());
        worker.models.insert((*model).to_owned(), Model { max_output: Some(1000), ..Model::default() });
    }
    worker.default_model = models.first().map(|model| (*model).to_owned());
    worker
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::bundled().unwrap());

fn workers() -> Vec<Provider> {
    vec![
        Provider {
            preset: Some("zai".into()),
            ..worker("glm", "https://api.z.ai/api/anthropic", &["glm-5.2", "glm-4.7"])
        },
        worker("kimi", "https://api.moonshot.ai/anthropic", &["kimi-k2.7-code"]),
        worker("own", "https://api.anthropic.com", &["claude-opus-5-5"]),
        worker("lite", "http://localhost:4000", &["claude-sonnet-5-5"]),
    ]
}

fn settled(text: &str) -> Result<Routes, Vec<String>> {
    let path = Path::new("/c");
    let told = |mistakes: Vec<Mistake>| mistakes.iter().map(ToString::to_string).collect();
    let config = Config::read(&Env::default(), path, Some(text.as_bytes())).map_err(told)?;
    Routes::settle(&config, path, &CATALOGUE, workers()).map_err(told)
}

/// `upstream,model` of each place, or what is told.
fn leads(routes: &Routes, asked: &str) -> String {
    match routes.find(asked) {
        Ok(route) => {
            let places = route.legs.iter().map(|leg| format!("{},{}", leg.upstream(), leg.model));
            places.collect::<Vec<_>>().join(" ")
        }
        Err(unknown) => unknown.to_string(),
    }
}

const RULES: &str = r#"{
  "upstreams": {"box": {"base_url": "http://10.0.0.7:11434"}},
  "rules": [
    {"model": "*:cloud", "to": "ollama"},
    {"model": "g*", "to": "kimi"},
    {"model": "glm-4.6", "to": "glm"},
    {"model": "gpt-oss", "to": "box,gpt-oss:20b"},
    {"model": "best", "to": "anthropic,claude-opus-5-5"}
  ],
  "roles": {
    "explorer": "kimi,kimi-k2.5",
    "worker": {"to": "zai", "fallback": ["kimi,kimi-k2.7-code", "mo-explorer", "zai,GLM-5.2", "anthropic,claude-haiku-5-5"]}
  }
}"#;

#[test]
fn names_lead_where_they_should() {
    let routes = settled(RULES).unwrap();
    for (asked, places) in [
        ("claude-opus-5-5", "anthropic,claude-opus-5-5"),
        ("CLAUDE-x", "anthropic,CLAUDE-x"),
        // Exact before prefix before suffix, whatever the order in the file.
        ("glm-4.6", "glm,glm-4.6"),
        ("GLM-4.6", "glm,GLM-4.6"),
        ("glm-5.1:cloud", "kimi,glm-5.1:cloud"),
        ("kimi-k2.5:cloud", "ollama,kimi-k2.5:cloud"),
        ("gpt-oss", "box,gpt-oss:20b"),
        ("best", "anthropic,claude-opus-5-5"),
        // A name says its upstream, a tier is the worker's model of it, a preset is its worker.
        ("box,x/y:z", "box,x/y:z"),
        ("zai,haiku", "glm,glm-4.7"),
        ("zai,GLM-4.7", "glm,glm-4.7"),
        ("anthropic,claude-x", "anthropic,claude-x"),
        ("own,claude-opus-5-5", "own,claude-opus-5-5"),
        // What a worker serves needs no rule.
        ("Kimi-K2.7-Code", "kimi,kimi-k2.7-code"),
        // Roles.
        ("mo-explorer", "kimi,kimi-k2.5"),
        ("mo-worker", "glm,glm-5.2 kimi,kimi-k2.7-code kimi,kimi-k2.5 anthropic,claude-haiku-5-5"),
        ("mo-glm", "glm,glm-5.2"),
    ] {
        assert_eq!(leads(&routes, asked), places, "{asked}");
    }
    assert_eq!(routes.find("mo-worker").unwrap().role(), Some("worker"));
}

#[test]
fn names_that_lead_nowhere_are_told_with_the_nearest() {
    let routes = settled(RULES).unwrap();
    for (asked, part) in [
        ("mo-explroer", "did you mean `mo-explorer`?"),
        ("kimi-k2.7-cod", "did you mean `kimi-k2.7-code`?"),
        ("opus", "no rule, role, worker or preset knows"),
        ("gemma,x", "no worker, preset or upstream `gemma`"),
        ("kimmi,x", "did you mean `kimi`?"),
        ("minimax,MiniMax-M3", "mo-worker create minimax --preset minimax"),
        ("anthropic,glm-5", "Anthropic has no model"),
        ("kimi,claude-opus-5-5", "not asked for at api.moonshot.ai"),
        ("lite,sonnet", "not asked for at localhost"),
        ("mo-lite", "not asked for at localhost"),
        ("", "cannot be a model's name"),
        ("a b", "cannot be a model's name"),
        (" claude-x", "cannot be a model's name"),
        ("kimi,", "cannot be a model's name"),
        ("kimi,a,b", "cannot be a model's name"),
        // Names of other clouds are nobody's, colon or not.
        ("us.anthropic.claude-opus-4-1-v1:0", "knows the model"),
    ] {
        let told = leads(&routes, asked);
        assert!(told.contains(part), "{asked}: {told}");
    }
    let routes =
        settled(r#"{"rules": [{"model": "qwen3-*", "to": "ollama"}], "default": "zai,glm-4.7"}"#).unwrap();
    assert_eq!(leads(&routes, "opus"), "glm,glm-4.7");
    let routes = settled(r#"{"rules": [{"model": "qwen3-*", "to": "ollama"}]}"#).unwrap();
    assert!(leads(&routes, "qwen2.5").contains("nearest rule is `qwen3-*` on line 1"));
}

#[test]
fn what_leads_nowhere_is_told_before_anything_is_asked() {
    let mistakes = settled(
        r#"{
  "upstreams": {
    "lost": {},
    "thief": {"base_url": "https://evil.example", "worker": "glm"},
    "ghost": {"base_url": "https://h", "worker": "nobody"}
  },
  "rules": [
    {"model": "x", "to": "kimmi"},
    {"model": "y", "to": "kimi,claude-opus-5-5"},
    {"model": "z", "to": "minimax"}
  ],
  "default": "nowhere",
  "roles": {
    "a": {"to": "kimi", "fallback": ["mo-b"]},
    "b": {"to": "zai", "fallback": ["mo-a"]},
    "c": {"to": "zai", "fallback": ["mo-d"]},
    "d": "ollama",
    "e": {"to": "zai", "fallback": ["mo-nobody"]}
  }
}"#,
    )
    .unwrap_err();
    for (line, part) in [
        (3, "name its `base_url`"),
        (4, "belongs to api.z.ai: it is not sent to evil.example"),
        (5, "no worker `nobody`"),
        (8, "did you mean `kimi`?"),
        (9, "is Anthropic's"),
        (10, "mo-worker create minimax"),
        (12, "no worker, preset or upstream `nowhere`"),
        (14, "the fallbacks go round: mo-b → mo-a → mo-b"),
        (15, "the fallbacks go round: mo-a → mo-b → mo-a"),
        (17, "needs a model"),
        (18, "no role `nobody`"),
    ] {
        let start = format!("/c:{line}: ");
        let told = mistakes.iter().any(|mistake| mistake.starts_with(&start) && mistake.contains(part));
        assert!(told, "{line} {part}: {mistakes:#?}");
    }
}

#[test]
fn a_place_of_its_own_takes_no_key_with_it() {
    let routes = settled(r#"{"upstreams": {"glm": {"base_url": "https://evil.example"}}}"#).unwrap();
    let route = routes.find("glm,glm-5.2").unwrap();
    assert_eq!(route.legs[0].credential(), Credential::Providers(&Key::None));
    let routes =
        settled(r#"{"upstreams": {"glm": {"limits": {"concurrent": 2}}}, "limits": {"concurrent": 9}}"#)
            .unwrap();
    let pace = |asked: &str| match &routes.find(asked).unwrap().legs[0].way {
        Way::Provider(provider) => (provider.pace.at_once, provider.key.clone()),
        Way::Anthropic => panic!("{asked}"),
    };
    assert_eq!(pace("glm,x"), (Some(2), Key::Worker(Name::parse("glm").unwrap())));
    assert_eq!(pace("kimi,x").0, Some(9));
    assert_eq!(routes.known().providers["zai"].name, "glm");
}

#[test]
fn the_preferred_worker_stands_for_its_preset_and_serves_first() {
    let mut all = workers();
    all.push(Provider {
        preferred: true,
        preset: Some("zai".into()),
        ..worker("zz", "https://api.z.ai/api/anthropic", &["glm-5.2"])
    });
    let routes = Routes::settle(&Config::default(), Path::new("/c"), &CATALOGUE, all).unwrap();
    assert_eq!(leads(&routes, "zai,x"), "zz,x");
    assert_eq!(leads(&routes, "glm-5.2"), "zz,glm-5.2");
}

#[test]
fn a_role_that_nothing_maps_is_the_preferred_workers() {
    let texts = [("reviewer".to_owned(), Some(Tier::Haiku)), ("architect".to_owned(), Some(Tier::Opus))];
    let routes = settled("{}").unwrap().with_roles(texts.into_iter());
    // Of the workers that are not Anthropic's, the first by name.
    assert_eq!(leads(&routes, "mo-reviewer"), "glm,glm-4.7");
    assert_eq!(leads(&routes, "mo-architect"), "glm,glm-5.2");
    assert_eq!(routes.find("mo-reviewer").unwrap().role(), Some("reviewer"));
    assert!(leads(&routes, "mo-reviwer").contains("did you mean `mo-reviewer`?"));
    let mapped = settled(r#"{"roles": {"reviewer": "kimi"}}"#).unwrap();
    assert_eq!(leads(&mapped, "mo-reviewer"), "kimi,kimi-k2.7-code");
}

#[test]
fn an_explanation_names_rule_place_and_credential() {
    let routes = settled(RULES).unwrap();
    let explained = |asked: &str| {
        let route = routes.find(asked).unwrap();
        Explanation::of(asked, &route, |_| vec!["metadata: left out".to_owned()])
    };
    let text = explained("mo-worker").text();
    for part in [
        "mo-worker → glm, glm-5.2",
        "role `worker` on line 12",
        "https://api.z.ai/api/anthropic",
        "the key of worker `glm`",
        "metadata: left out",
        "else → anthropic, claude-haiku-5-5",
        "the client's own, untouched",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = serde_json::to_value(explained("best")).unwrap();
    assert_eq!(json["places"][0]["url"], "https://api.anthropic.com");
    assert_eq!(json["places"][0]["changes"][0], "model: claude-opus-5-5");
    let route = routes.find("claude-x").unwrap();
    assert!(Explanation::of("claude-x", &route, |_| Vec::new()).text().contains("none: every byte"));
}

fn target() -> impl Strategy<Value = String> {
    let upstreams =
        ["glm", "zai", "kimi", "own", "lite", "box", "twin", "anthropic", "ollama", "minimax", "nobody"];
    let models = ["", ",m", ",claude-opus-5-5", ",CLAUDE-x", ",opus", ",sonnet", ",glm-5.2", ",mo-a"];
    (prop::sample::select(upstreams.to_vec()), prop::sample::select(models.to_vec()))
        .prop_map(|(upstream, model)| format!("{upstream}{model}"))
}

fn name() -> impl Strategy<Value = String> {
    let words = [
        "claude-opus-5-5",
        "Claude-x",
        "CLAUDE-",
        "claude",
        "glm-5.2",
        "mo-a",
        "mo-b",
        "mo-lite",
        "mo-own",
        "x",
        "best",
        "opus",
        "own,claude-x",
        "lite,claude-x",
        "lite,sonnet",
        "anthropic,claude-x",
        "anthropic,x",
        "box,claude-x",
        "twin,claude-x",
        "kimi,opus",
        " claude-x",
        "x,claude-y",
    ];
    prop_oneof![prop::sample::select(words.to_vec()).prop_map(str::to_owned), "[a-zA-Z,:*-]{0,12}", target()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// The login of the subscription goes to Anthropic alone, and so does every name that is Anthropic's.
    #[test]
    fn no_configuration_leads_the_subscription_elsewhere(
        rules in prop::collection::vec((prop::sample::select(vec!["x", "best", "*opus", "g*", "*x", "c*", "*"]), target()), 0..4),
        default in prop::option::of(target()),
        roles in prop::collection::btree_map("[ab]", (target(), prop::collection::vec(target(), 0..3)), 0..3),
        asked in prop::collection::vec(name(), 1..12),
    ) {
        let mut document = serde_json::json!({
            "upstreams": {
                "box": {"base_url": "http://10.0.0.7:11434"},
                "twin": {"base_url": "https://api.anthropic.com.evil.example"},
            },
            "rules": rules.iter().map(|(model, to)| serde_json::json!({"model": model, "to": to})).collect::<Vec<_>>(),
            "roles": roles.iter().map(|(role, (to, fallback))| {
                (role.clone(), serde_json::json!({"to": to, "fallback": fallback}))
            }).collect::<serde_json::Map<_, _>>(),
        });
        if let Some(default) = default {
            document["default"] = default.into();
        }
        // A configuration with a mistake is not used; without those members that cannot be right, most are.
        let routes = settled(&document.to_string())
            .or_else(|_| { document["rules"] = serde_json::json!([]); settled(&document.to_string()) })
            .or_else(|_| { document["default"] = serde_json::Value::Null; settled(&document.to_string()) })
            .or_else(|_| { document["roles"] = serde_json::json!({}); settled(&document.to_string()) })
            .unwrap();
        for asked in asked {
            let Ok(route) = routes.find(&asked) else { continue };
            prop_assert!(!route.legs.is_empty());
            if is_anthropics(&asked) {
                prop_assert_eq!(route.legs.len(), 1);
                prop_assert_eq!(&route.legs[0].way, &Way::Anthropic);
                prop_assert_eq!(&route.legs[0].model, &asked);
            }
            for leg in &route.legs {
                match leg.credential() {
                    Credential::Clients => {
                        prop_assert_eq!(&leg.way, &Way::Anthropic);
                        prop_assert_eq!(leg.host(), None);
                        prop_assert!(leg.profile.is_none() && is_anthropics(&leg.model));
                    }
                    Credential::Providers(_) => {
                        let host = leg.host().unwrap();
                        prop_assert!(host.is_anthropic() || !is_anthropics(&leg.model), "{asked}: {leg:?}");
                    }
                }
            }
        }
    }
}
