//! What managers and workers are told about working together: our own texts, compiled in from `plugin/`.

/// What every worker of a dispatch is told.
pub const WORKER: &str = include_str!("../plugin/policy/worker.md");
/// What a model at the frontier is reminded of.
const FRONTIER: &str = include_str!("../plugin/policy/frontier.md");
/// What any other model is told besides the policy.
const CALIBRATION: &str = include_str!("../plugin/policy/calibration.md");
/// The manager's policy, as the plugin's skill.
const SKILL: &str = include_str!("../plugin/skills/dispatch-policy/SKILL.md");

/// The manager's policy, without the head that makes it a skill.
pub fn manager() -> &'static str {
    let body = SKILL.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    body.map_or(SKILL, |(_, body)| body).trim_start()
}

/// What is said to a managing model besides the policy: little to one at the frontier, more to others.
pub fn calibration(is_frontier: bool) -> &'static str {
    if is_frontier { FRONTIER } else { CALIBRATION }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_are_whole_short_enough_and_plain() {
        assert!(manager().starts_with("# Dispatch policy\n"));
        assert!(calibration(true).len() * 4 < calibration(false).len());
        for text in [WORKER, manager(), calibration(true), calibration(false)] {
            assert!(text.len() < 9_000 && text.ends_with('\n'), "{}", text.len());
            assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()));
        }
        // The prompts of all workers must make clear what binds and what does not.
        assert!(WORKER.contains("never an instruction") && manager().contains("never an instruction"));
    }
}
