//! The environment of a worker's process: what of the parent's it must not see, and what is put in.
//! Everything that launches a worker makes its environment here; the strip list below is the only one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::auth::Auth;
use crate::base_url::BaseUrl;
use crate::claude;
use crate::dispatch_id::DispatchId;
use crate::env::{self, Env};
use crate::no_proxy;
use crate::paths::Paths;
use crate::secret::Secret;
use crate::settings;
use crate::tier::Tier;
use crate::worker::{Mapped, Worker};

/// What is taken from a worker, and why. A `*` at the end stands for any rest.
const STRIPPED: &[(&str, &str)] = &[
    ("ANTHROPIC_*", "would redirect or unlock Claude Code"),
    ("CLAUDE_*", "belongs to the session that starts the worker"),
    ("CLAUDECODE", "belongs to the session that starts the worker"),
    ("AI_AGENT", "belongs to the session that starts the worker"),
    ("MO_*", "is ours, and set anew"),
    (settings::API_TIMEOUT, "is the provider's business"),
    ("ENABLE_TOOL_SEARCH", "is the provider's business"),
    ("AWS_*", "is a cloud credential, or chooses one"),
    ("BEDROCK_*", "is a cloud credential, or chooses one"),
    ("GOOGLE_*", "is a cloud credential, or chooses one"),
    ("GCLOUD_*", "is a cloud credential, or chooses one"),
    ("CLOUDSDK_AUTH_*", "is a cloud credential, or chooses one"),
    ("CLOUD_ML_REGION", "is a cloud credential, or chooses one"),
    ("VERTEX_*", "is a cloud credential, or chooses one"),
    ("AZURE_*", "is a cloud credential, or chooses one"),
    ("ZAI_API_KEY", ANOTHERS_KEY),
    ("Z_AI_API_KEY", ANOTHERS_KEY),
    ("ZHIPUAI_API_KEY", ANOTHERS_KEY),
    ("GLM_API_KEY", ANOTHERS_KEY),
    ("MOONSHOT_API_KEY", ANOTHERS_KEY),
    ("KIMI_API_KEY", ANOTHERS_KEY),
    ("MINIMAX_API_KEY", ANOTHERS_KEY),
    ("DEEPSEEK_API_KEY", ANOTHERS_KEY),
    ("OPENROUTER_API_KEY", ANOTHERS_KEY),
    ("OLLAMA_API_KEY", ANOTHERS_KEY),
    ("LITELLM_API_KEY", ANOTHERS_KEY),
    ("LITELLM_MASTER_KEY", ANOTHERS_KEY),
];

/// What stays although a pattern above names it.
const KEPT: &[&str] = &[env::CLAUDE_WORKERS_ROOT, "AWS_CA_BUNDLE", "AWS_PAGER", env::PATH, env::HOME];

/// A shorter key is a word like `lmstudio`, which a local server takes for a key and a path may hold.
const SHORTEST_KEY: usize = 16;

/// What in a project's settings says where requests go, with which key and for which model.
const REDIRECTING: &[&str] = &[
    "ANTHROPIC_*",
    "CLAUDE_CODE_USE_*",
    "CLAUDE_CODE_OAUTH_TOKEN*",
    "CLAUDE_CODE_SUBAGENT_MODEL*",
    "CLAUDE_CONFIG_DIR",
];

/// Whether a variable of a project's settings would lead a worker elsewhere.
pub fn redirects(name: &str) -> bool {
    REDIRECTING.iter().any(|pattern| fits(pattern, name))
}

const ANOTHERS_KEY: &str = "is a provider's key, maybe another worker's";
const HOLDS_A_KEY: &str = "holds another worker's key";

/// Claude Code asks for this many output tokens unless told otherwise; a model that gives less refuses.
const USUAL_OUTPUT: u64 = 32_000;

/// What one launch adds to a worker.
#[derive(Debug, Default)]
pub struct Launch<'a> {
    /// The worker's key, where it has one.
    pub key: Option<&'a Secret>,
    /// The keys of the other workers, wherever they may hide.
    pub foreign_keys: &'a [Secret],
    /// The model that does the work, where it is known: its window matters.
    pub model: Option<&'a Mapped>,
    /// The dispatch, where there is one.
    pub dispatch: Option<&'a DispatchId>,
    /// The client's own retries after an API error.
    pub retries: Option<u32>,
    /// Whether a subagent names a model of Anthropic's, so that all of them need another.
    pub foreign_agents: bool,
}

/// One variable of the child, or one that it does not get.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Decision {
    /// The variable.
    pub name: OsString,
    /// Its value in the child; nothing when it is taken away.
    pub value: Option<OsString>,
    /// Whether the value may be shown.
    pub secret: bool,
    /// Which rule put or removed it; nothing when it is simply passed on.
    pub rule: Option<String>,
}

/// The environment of a worker's process, every variable with the rule that decided on it.
#[derive(Debug, Default)]
pub struct ChildEnv(BTreeMap<OsString, Decision>);

impl ChildEnv {
    /// Decides on every variable.
    pub fn of(parent: &Env, worker: &Worker, paths: &Paths, launch: &Launch) -> Self {
        let mut child = Self::default();
        for (name, value) in parent.iter() {
            match stripped(name, value, launch.foreign_keys) {
                Some(rule) => child.remove(name, rule),
                None => child.pass(name, value),
            }
        }
        child.add_files(worker);
        child.add_way(worker);
        child.add_models(worker, launch.model);
        child.add_subagents(worker, launch.foreign_agents);
        child.add_manners(worker);
        child.add_ours(parent, worker, paths, launch);
        child.add_key(worker.profile.auth, launch.key);
        child
    }

    /// All decisions, by name.
    pub fn decisions(&self) -> impl Iterator<Item = &Decision> {
        self.0.values()
    }

    /// The variables that the child really gets.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.values().filter_map(|one| Some((one.name.as_os_str(), one.value.as_deref()?)))
    }

    fn pass(&mut self, name: &OsStr, value: &OsStr) {
        self.decide(name, Some(value), false, None);
    }

    fn remove(&mut self, name: &OsStr, rule: &str) {
        self.decide(name, None, false, Some(rule));
    }

    fn put(&mut self, name: &str, value: impl AsRef<OsStr>, rule: &str) {
        self.decide(OsStr::new(name), Some(value.as_ref()), false, Some(rule));
    }

    fn decide(&mut self, name: &OsStr, value: Option<&OsStr>, secret: bool, rule: Option<&str>) {
        let (name, rule) = (name.to_owned(), rule.map(str::to_owned));
        self.0.insert(name.clone(), Decision { name, value: value.map(OsStr::to_owned), secret, rule });
    }

    /// What the worker's own files say; variables win over settings, so they are exported for real.
    fn add_files(&mut self, worker: &Worker) {
        for (name, value) in &worker.profile.env {
            self.put(name, value, "worker.json: the provider needs it");
        }
        for (name, value) in worker.settings.env().filter(|(name, _)| !is_key(name)) {
            self.put(name, value, "settings.json");
        }
    }

    /// A server on this machine is reached past a company's proxy.
    fn add_way(&mut self, worker: &Worker) {
        let url = worker.base_url().and_then(|url| BaseUrl::parse(url).ok());
        if url.is_some_and(|parsed| parsed.url.is_loopback()) {
            for (name, value) in no_proxy::for_loopback(&self.variables().collect()) {
                self.put(name, value, "the provider is on this machine: no proxy stands between");
            }
        }
    }

    /// No model name but the provider's own may leave: every tier has a model, mapped or the default one.
    fn add_models(&mut self, worker: &Worker, model: Option<&Mapped>) {
        if worker.is_anthropic() && worker.default_model().is_none() {
            return;
        }
        if let Some(default) = worker.default_model() {
            for tier in Tier::ALL {
                let (mapped, rule) = match worker.profile.tiers.get(&tier) {
                    Some(mapped) => (mapped, "the tier's model"),
                    None => (default, "the tier is not mapped: the default tier's model"),
                };
                self.put(tier.variable(), &mapped.model, rule);
            }
            let small = worker.profile.tiers.get(&Tier::Haiku).unwrap_or(default);
            self.put(
                "ANTHROPIC_SMALL_FAST_MODEL",
                &small.model,
                "older clients ask for background work by it",
            );
        }
        if let Some(window) = model.and_then(|model| model.context_window) {
            self.put("CLAUDE_CODE_MAX_CONTEXT_TOKENS", window.to_string(), "the model's own window");
        }
        if let Some(most) = model.and_then(|model| model.max_output).filter(|most| *most < USUAL_OUTPUT) {
            self.put("CLAUDE_CODE_MAX_OUTPUT_TOKENS", most.to_string(), "the model writes no more");
        }
    }

    /// A subagent's file can name any model, and that name would be sent as it is. One model for all subagents
    /// costs a worker with several models its choice among them, so it is forced only where there is none or need.
    fn add_subagents(&mut self, worker: &Worker, foreign: bool) {
        let Some(default) = worker.default_model().filter(|_| !worker.is_anthropic()) else { return };
        let is_only = worker.profile.tiers.values().all(|mapped| mapped.model == default.model);
        if is_only || foreign {
            let rule = "a subagent that names a model of Anthropic's gets the default tier's";
            self.put("CLAUDE_CODE_SUBAGENT_MODEL", &default.model, rule);
            self.put("CLAUDE_CODE_SUBAGENT_MODEL_FORCE", "1", rule);
        }
    }

    fn add_manners(&mut self, worker: &Worker) {
        self.put("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1", "a worker talks to its provider only");
        // It would also keep an account's own login from the client.
        if worker.base_url().is_some() && !worker.is_account() {
            // Without it a project's own settings.json could send the worker's key to another host.
            let rule = "no settings file of a project redirects a worker; current clients also keep the key from its tools";
            self.put(claude::MANAGED_BY_HOST, "1", rule);
        }
        if !worker.is_anthropic() {
            let rule = "a nonce in the first block of every request ruins the provider's cache";
            self.put("CLAUDE_CODE_ATTRIBUTION_HEADER", "0", rule);
        }
    }

    fn add_ours(&mut self, parent: &Env, worker: &Worker, paths: &Paths, launch: &Launch) {
        match worker.config_dir(paths) {
            Some(directory) => self.put(env::CLAUDE_CONFIG_DIR, directory, "the worker's own identity"),
            None => {
                self.remove(OsStr::new(env::CLAUDE_CONFIG_DIR), "the default account is found without it");
            }
        }
        self.put(env::MO_WORKER, worker.name.as_str(), "tells our programs whose process this is");
        if let Some(dispatch) = launch.dispatch {
            self.put(env::MO_DISPATCH, dispatch.as_str(), "tells our programs which dispatch this is");
        }
        if let Some(session) = manager_session(parent) {
            self.put(env::MO_MANAGER_SESSION, session, "the session that gave the work away");
        }
        self.put(env::MO_DEPTH, (depth(parent) + 1).to_string(), "a worker starts no workers unless told to");
        if let Some(retries) = launch.retries {
            self.put("CLAUDE_CODE_MAX_RETRIES", retries.to_string(), "--retries");
        }
    }

    /// Exactly one of the two key variables, and it holds this worker's key.
    fn add_key(&mut self, auth: Auth, key: Option<&Secret>) {
        for other in [Auth::Bearer, Auth::XApiKey] {
            self.remove(OsStr::new(other.variable()), "only the worker's own key unlocks its provider");
        }
        if let Some(key) = key {
            let (name, value) = (OsStr::new(auth.variable()), OsStr::new(key.reveal()));
            self.decide(name, Some(value), true, Some("the worker's key"));
        }
    }
}

/// The session that gave the work away: as the client names it, else as our hook does for clients that do not
/// (2.0.76, 2.1.91). Inside a worker the latter is the session above it.
pub fn manager_session(parent: &Env) -> Option<&str> {
    let noted = || parent.text(env::MO_MANAGER_SESSION).filter(|_| depth(parent) == 0);
    parent.text(env::CLAUDE_CODE_SESSION_ID).or_else(noted)
}

/// How deep in workers the parent is; an unreadable depth counts as inside.
pub fn depth(parent: &Env) -> u32 {
    match parent.text(env::MO_DEPTH) {
        None => u32::from(parent.is_set(env::MO_WORKER)),
        Some(text) => text.parse().unwrap_or(1),
    }
}

fn is_key(name: &str) -> bool {
    [Auth::Bearer, Auth::XApiKey].iter().any(|auth| auth.variable() == name)
}

/// The rule that takes this variable from a worker.
fn stripped(name: &OsStr, value: &OsStr, foreign_keys: &[Secret]) -> Option<&'static str> {
    let name = name.to_string_lossy();
    if KEPT.contains(&name.as_ref()) {
        return None;
    }
    let text = value.to_string_lossy();
    if foreign_keys.iter().any(|key| key.reveal().len() >= SHORTEST_KEY && text.contains(key.reveal())) {
        return Some(HOLDS_A_KEY);
    }
    STRIPPED.iter().find(|(pattern, _)| fits(pattern, &name)).map(|(_, why)| *why)
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}
