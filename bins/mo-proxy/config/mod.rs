//! What the user decided: `.proxy/config.json`, small and optional, and the variables of the earlier system.
//! It is checked whole, every mistake told with its line, before anything is listened on. Which upstreams there
//! are, and what a name leads to, is `route`'s.

mod figures;
mod file;
#[cfg(test)]
mod fuzz;
pub mod mistake;
pub mod names;
mod reader;
#[cfg(test)]
mod tests;
mod variables;
mod words;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use shared::auth::Auth;
use shared::base_url::BaseUrl;
use shared::env::Env;
use shared::model::Model;

use mistake::Mistake;
pub use variables::without_meaning;

/// The format that is read.
pub const VERSION: u64 = 1;
/// Where we listen unless told otherwise.
pub const PORT: u16 = 3457;

/// Everything that can be decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Where clients reach us.
    pub listen: Listen,
    /// More certificates to trust, in PEM.
    pub ca_file: Option<PathBuf>,
    /// Upstreams of the user's own, and settings over those there are.
    pub upstreams: BTreeMap<String, Upstream>,
    /// Which names of models lead where, in the user's order.
    pub rules: Vec<Rule>,
    /// Where a name goes that nothing else knows.
    pub default: Option<Target>,
    /// What the names `mo-<role>` stand for.
    pub roles: BTreeMap<String, Role>,
    /// How requests to others are shaped.
    pub profiles: BTreeMap<String, Profile>,
    /// How much each provider is asked at once, unless its upstream says otherwise.
    pub pace: Pace,
    /// When an upstream is left alone for a while.
    pub breaking: Breaking,
    /// When a request is tried again.
    pub retrying: Retrying,
    /// What a day may cost.
    pub spending: Option<Spending>,
    /// The audit trail.
    pub auditing: Auditing,
    /// How long anything may take.
    pub timeouts: Timeouts,
    /// The largest body of a request, in bytes.
    pub max_body: MaxBody,
    /// How much is logged.
    pub log: Log,
    /// Whether cache markers are put into requests that have none.
    pub markers: bool,
    /// Whether old tool results are shortened, and from which size on.
    pub compressing: Option<Compressing>,
}

/// Where clients reach us.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Listen {
    /// An address of this machine, reached from nowhere else.
    Loopback(IpAddr, u16),
    /// A unix socket that only its owner can open.
    Socket(PathBuf),
}

impl Default for Listen {
    fn default() -> Self {
        Self::Loopback(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT)
    }
}

/// An upstream as the file describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Upstream {
    /// Its place; none where the entry only adds to a worker or a preset of its name.
    pub base_url: Option<BaseUrl>,
    /// How it takes its key.
    pub auth: Option<Auth>,
    /// The worker whose key it takes.
    pub worker: Option<String>,
    /// The profile of every request to it.
    pub profile: Option<String>,
    /// What is known of its models, over what the catalogue knows.
    pub models: BTreeMap<String, Model>,
    /// Members of a request that it understands, beyond the usual ones.
    pub keeps: Vec<String>,
    /// Betas that it understands.
    pub betas: Vec<String>,
    /// Its own pace.
    pub pace: Option<Pace>,
    /// Paid by the month.
    pub flat_plan: Option<bool>,
    /// Where it stands in the file.
    pub line: usize,
}

/// An upstream, and a model of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target {
    /// The upstream's name.
    pub upstream: String,
    /// The model's name there; the name that was asked for where there is none.
    pub model: Option<String>,
    /// Where it stands in the file.
    pub line: usize,
}

/// Which names a rule is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Pattern {
    /// This one.
    Exact(String),
    /// Those that begin so.
    Prefix(String),
    /// Those that end so.
    Suffix(String),
}

/// Where names of a pattern go.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// The pattern.
    pub pattern: Pattern,
    /// Where to.
    pub to: Target,
    /// The profile of these requests.
    pub profile: Option<String>,
}

/// What a role stands for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Role {
    /// Where its requests go.
    pub to: Target,
    /// The profile of these requests.
    pub profile: Option<String>,
    /// Where they go when that place fails before its first byte, in order.
    pub fallback: Vec<Fallback>,
    /// Where it stands in the file.
    pub line: usize,
}

/// One place in a chain.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Fallback {
    /// An upstream and its model.
    To(Target),
    /// Wherever another role leads.
    Role(String, usize),
}

/// How requests to others are shaped. What is not said stays the caller's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The most tokens of an answer.
    pub max_tokens: Option<u64>,
    /// Raises a smaller wish to this; without it nothing is ever raised.
    pub floor: Option<u64>,
    /// How much thinking.
    pub thinking: Option<Thinking>,
    /// The temperature where the caller says none and nothing thinks.
    pub temperature: Option<f64>,
}

/// How much thinking.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Thinking {
    /// None.
    Off,
    /// So many tokens, unless the caller wants none.
    Budget(u64),
}

/// How much an upstream is asked at once. Nothing is limited unless told.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Pace {
    /// Requests a minute.
    pub per_minute: Option<u64>,
    /// Requests at the same time.
    pub at_once: Option<u64>,
    /// How many may wait.
    pub queue: Option<u64>,
    /// How long one may wait.
    pub wait: Option<Duration>,
}

/// When an upstream is left alone for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Breaking {
    /// So many failures at least,
    pub failures: u32,
    /// and such a share of all requests,
    pub share: f64,
    /// within this time,
    pub window: Duration,
    /// leave it alone for this long.
    pub open: Duration,
}

impl Default for Breaking {
    fn default() -> Self {
        Self { failures: 5, share: 0.5, window: Duration::from_secs(60), open: Duration::from_secs(30) }
    }
}

/// When a request is tried again: always before its first byte, and only where that is safe.
#[derive(Clone, Debug, PartialEq)]
pub struct Retrying {
    /// Tries beyond the first.
    pub tries: u32,
    /// The first pause, doubled each time.
    pub base: Duration,
    /// The longest pause, even if the upstream asks for a longer one.
    pub longest: Duration,
    /// Statuses after which one may try again unasked.
    pub statuses: Vec<u16>,
    /// Tries beyond the first, as a share of all requests.
    pub budget: f64,
}

impl Default for Retrying {
    fn default() -> Self {
        Self {
            tries: 2,
            base: Duration::from_millis(250),
            longest: Duration::from_secs(20),
            statuses: vec![503, 529],
            budget: 0.2,
        }
    }
}

/// What a day may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spending {
    /// Dollars.
    pub usd: f64,
    /// Whether requests are refused above it; else it is only told.
    pub refuse: bool,
}

/// The audit trail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Auditing {
    /// Whether it is kept.
    pub on: bool,
    /// When a new file begins, in bytes.
    pub size: u64,
    /// How long files are kept.
    pub days: u64,
    /// Whether what was asked and answered is kept too.
    pub content: bool,
}

impl Default for Auditing {
    fn default() -> Self {
        Self { on: true, size: 64 << 20, days: 90, content: false }
    }
}

/// How long anything may take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Timeouts {
    /// To connect.
    pub connect: Duration,
    /// Without a byte from the upstream.
    pub idle: Duration,
    /// The whole request.
    pub total: Duration,
    /// Without a byte to the client, before a ping.
    pub ping: Duration,
    /// For streams to end, once we are to stop.
    pub drain: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(600),
            total: Duration::from_secs(3600),
            ping: Duration::from_secs(15),
            drain: Duration::from_secs(30),
        }
    }
}

/// The largest body of a request, in bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MaxBody(pub u64);

impl Default for MaxBody {
    fn default() -> Self {
        Self(64 << 20)
    }
}

/// How much is logged.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Log {
    /// Nothing.
    Off,
    /// What went wrong.
    Error,
    /// What may go wrong.
    Warn,
    /// What happens.
    #[default]
    Info,
    /// How it happens.
    Debug,
    /// All of it.
    Trace,
}

/// Which old tool results are shortened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Compressing {
    /// So many of the newest messages are never touched.
    pub keep: usize,
    /// Results below this size are never touched.
    pub size: usize,
}

impl Default for Compressing {
    fn default() -> Self {
        Self { keep: 20, size: 4_000 }
    }
}

impl Config {
    /// What the variables and the file say, the file over the variables, and everything that is wrong with them.
    /// No file says nothing.
    pub fn read_all(env: &Env, path: &Path, text: Option<&[u8]>) -> (Self, Vec<Mistake>) {
        let mut config = Self::default();
        let mut mistakes = variables::read(env, &mut config);
        if let Some(bytes) = text {
            mistakes.extend(file::read(path, bytes, &mut config));
        }
        (config, mistakes)
    }

    /// The same, where only a configuration without mistakes is of use.
    #[cfg(test)]
    pub fn read(env: &Env, path: &Path, text: Option<&[u8]>) -> Result<Self, Vec<Mistake>> {
        let (config, mistakes) = Self::read_all(env, path, text);
        if mistakes.is_empty() { Ok(config) } else { Err(mistakes) }
    }
}
