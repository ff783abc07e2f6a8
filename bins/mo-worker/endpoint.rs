//! What stands at a worker's base URL: asked of mo-preset, without a key, before Claude Code asks and where its
//! answer leaves it open.

use std::process::{Command, Stdio};

use serde::Deserialize;
use shared::api_error::Trouble;
use shared::sibling;

#[derive(Deserialize)]
struct Probe {
    verdict: String,
    words: String,
}

/// So long the endpoint may take, in seconds.
const PATIENCE: &str = "5";
/// Verdicts that mean: somebody answers, and it is not this API.
const OTHERS: [&str; 3] = ["other-api", "redirect", "old-ollama"];
/// The verdict that means: it is.
const SPEAKS: &str = "speaks-messages";

/// The trouble, told more exactly where a look at the endpoint can.
pub fn narrow(trouble: Trouble, base_url: Option<&str>) -> Trouble {
    if !matches!(trouble, Trouble::NotFound | Trouble::Unreachable) {
        return trouble;
    }
    let verdict = base_url.and_then(probe).map(|probe| probe.verdict).unwrap_or_default();
    match trouble {
        Trouble::NotFound if verdict == SPEAKS => Trouble::Model,
        _ if OTHERS.contains(&verdict.as_str()) => Trouble::Url,
        _ => trouble,
    }
}

/// Where the endpoint sends, in words; nothing where it does not, or where nobody can tell. Claude Code would follow,
/// and an `x-api-key` goes along with it to a host that nobody chose.
pub fn detour(base_url: &str) -> Option<String> {
    probe(base_url).filter(|probe| probe.verdict == "redirect").map(|probe| probe.words)
}

/// Nothing when mo-preset is not there or says nothing.
fn probe(base_url: &str) -> Option<Probe> {
    let mut probe = Command::new(sibling::find("mo-preset")?);
    probe.args(["probe", "--json", "--timeout", PATIENCE, "--", base_url]);
    let output = probe.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}
