//! A project's own settings: those that would send a worker elsewhere, or make another model of it.

use shared::child_env::redirects;

use super::line::Line;
use super::scope::Scope;

/// What the project would do to workers started here.
pub fn judge(scopes: &[Scope], lets_projects_redirect: Option<bool>) -> Vec<Line> {
    let ours = scopes.iter().filter(|scope| scope.of_project);
    ours.filter_map(|scope| {
        let mut names: Vec<&str> = scope.document.variables().filter(|name| redirects(name)).collect();
        if scope.document.has_key_helper() {
            names.push("apiKeyHelper");
        }
        if names.is_empty() {
            return None;
        }
        // The values stay out: one may be a key.
        let what = format!("{} sets {}", scope.place, names.join(", "));
        Some(match lets_projects_redirect {
            Some(false) => Line::warn("project", format!("{what}: workers ignore it, this session does not")),
            _ => Line::warn(
                "project",
                format!("{what}: older versions of Claude Code let it redirect a worker"),
            )
            .next("take it out, or run workers from another directory"),
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::scope::holding;
    use super::*;

    #[test]
    fn only_a_projects_own_redirections_are_told_and_never_their_values() {
        let scopes = [
            holding(
                "p",
                true,
                r#"{"env": {"ANTHROPIC_BASE_URL": "https://sk-secret", "PATH": "/"}, "apiKeyHelper": "x"}"#,
            ),
            holding("q", true, r#"{"env": {"DEBUG": "1"}}"#),
            holding("user", false, r#"{"env": {"ANTHROPIC_BASE_URL": "https://mine"}}"#),
        ];
        let lines = judge(&scopes, Some(true));
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].what.starts_with("p sets ANTHROPIC_BASE_URL, apiKeyHelper: older"),
            "{}",
            lines[0].what
        );
        assert!(judge(&scopes, Some(false))[0].what.contains("workers ignore it"));
    }
}
