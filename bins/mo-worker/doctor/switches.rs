//! Our two switches: how they stand here, and where each was set.

use std::fmt::Write as _;

use shared::env::{self, Env};

use super::line::Line;
use super::scope::Scope;

/// The switches, with what each is about.
const SWITCHES: [(&str, &str); 2] = [("delegation", env::DELEGATION), ("savings", env::SAVINGS)];

/// How they stand.
pub fn judge(scopes: &[Scope], env: &Env) -> Vec<Line> {
    SWITCHES.iter().map(|(subject, variable)| switch(subject, variable, scopes, env)).collect()
}

fn switch(subject: &str, variable: &str, scopes: &[Scope], env: &Env) -> Line {
    let mut places: Vec<(&str, bool)> = scopes
        .iter()
        .filter_map(|scope| Some((scope.place.as_str(), env::is_off(scope.document.variable(variable)?))))
        .collect();
    if env.is_set(variable) {
        places.push(("the environment", env.is_off(variable)));
    }
    let word = |off: bool| if off { "off" } else { "on" };
    let Some(((place, off), rest)) = places.split_first() else { return Line::ok(subject, "on") };
    let mut overruled = String::new();
    for (other, off) in rest {
        let _ = write!(overruled, "; this overrules `{}` in {other}", word(*off));
    }
    let what = format!("{}: {variable} is set in {place}{overruled}", word(*off));
    if *off { Line::warn(subject, what) } else { Line::ok(subject, what) }
}

#[cfg(test)]
mod tests {
    use super::super::line::Mark;
    use super::super::scope::holding;
    use super::*;

    #[test]
    fn the_strongest_place_wins_and_is_named() {
        let scopes = [
            holding("local", true, r#"{"env": {"MODEL_ORCHESTRATION_DELEGATION": "No"}}"#),
            holding("user", false, r#"{"env": {"MODEL_ORCHESTRATION_DELEGATION": "on", "X": 1}}"#),
        ];
        let env: Env = [(env::SAVINGS, "off"), (env::DELEGATION, "0")].into_iter().collect();
        let lines = judge(&scopes, &env);
        let (delegation, savings) = (&lines[0], &lines[1]);
        assert_eq!(delegation.mark, Mark::Warn);
        let overruled = "this overrules `on` in user; this overrules `off` in the environment";
        assert!(delegation.what.starts_with("off: ") && delegation.what.ends_with(overruled));
        assert!(savings.what.ends_with("is set in the environment"));
        assert_eq!(judge(&[], &Env::default())[0].what, "on");
    }
}
