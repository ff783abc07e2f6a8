//! What stands at a worker's base URL: asked of mo-preset, where Claude Code's answer leaves it open.

use std::process::{Command, Stdio};

use serde::Deserialize;
use shared::api_error::Trouble;
use shared::sibling;

#[derive(Deserialize)]
struct Probe {
    verdict: String,
}

/// Verdicts that mean: somebody answers, and it is not this API.
const OTHERS: [&str; 3] = ["other-api", "redirect", "old-ollama"];
/// The verdict that means: it is.
const SPEAKS: &str = "speaks-messages";

/// The trouble, told more exactly where a look at the endpoint can.
pub fn narrow(trouble: Trouble, base_url: Option<&str>) -> Trouble {
    if !matches!(trouble, Trouble::NotFound | Trouble::Unreachable) {
        return trouble;
    }
    let verdict = base_url.and_then(verdict).unwrap_or_default();
    match trouble {
        Trouble::NotFound if verdict == SPEAKS => Trouble::Model,
        _ if OTHERS.contains(&verdict.as_str()) => Trouble::Url,
        _ => trouble,
    }
}

/// Nothing when mo-preset is not there or says nothing.
fn verdict(base_url: &str) -> Option<String> {
    let mut probe = Command::new(sibling::find("mo-preset")?);
    let output = probe.args(["probe", "--json", base_url]).stdin(Stdio::null()).output().ok()?;
    serde_json::from_slice::<Probe>(&output.stdout).ok().map(|probe| probe.verdict)
}
