//! `mo-proxy explain MODEL`: which rule takes the name, where it leads, as whom, and what would be changed.

use serde::Serialize;
use shared::flatten::flatten;

use super::provider::Key;
use super::{API, Credential, Leg, Route, Way, Why};

/// One place, told.
#[derive(Debug, Eq, PartialEq, Serialize)]
struct Place {
    upstream: String,
    model: String,
    url: String,
    credential: String,
    changes: Vec<String>,
}

/// A route, told.
#[derive(Debug, Eq, PartialEq, Serialize)]
pub struct Explanation {
    version: u32,
    asked: String,
    because: String,
    places: Vec<Place>,
}

impl Explanation {
    /// Tells where a name leads. `changes` says what a request loses or gets on a leg.
    pub fn of(asked: &str, route: &Route, changes: impl Fn(&Leg) -> Vec<String>) -> Self {
        let places = route.legs.iter().map(|leg| {
            let mut told = Vec::new();
            if leg.model != asked {
                told.push(format!("model: {}", flatten(&leg.model, 100)));
            }
            told.extend(changes(leg));
            Place {
                upstream: leg.upstream().to_owned(),
                model: flatten(&leg.model, 100),
                url: match &leg.way {
                    Way::Anthropic => format!("https://{API}"),
                    Way::Provider(provider) => provider.base_url.to_string(),
                },
                credential: credential(leg),
                changes: told,
            }
        });
        Self {
            version: 1,
            asked: flatten(asked, 100),
            because: because(&route.why),
            places: places.collect(),
        }
    }

    /// As lines for a person.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (at, place) in self.places.iter().enumerate() {
            let start = if at == 0 { flatten(&self.asked, 100) } else { "else".to_owned() };
            text.push_str(&format!("{start} → {}, {}\n", place.upstream, place.model));
            if at == 0 {
                text.push_str(&format!("  because     {}\n", self.because));
            }
            text.push_str(&format!("  at          {}\n", place.url));
            text.push_str(&format!("  credential  {}\n", place.credential));
            let mut name = "changes";
            if place.changes.is_empty() {
                text.push_str("  changes     none: every byte goes as it came\n");
            }
            for change in &place.changes {
                text.push_str(&format!("  {name:<11} {change}\n"));
                name = "";
            }
        }
        text
    }
}

fn because(why: &Why) -> String {
    match why {
        Why::Claude => "names that begin with claude- go to Anthropic".to_owned(),
        Why::Named => "the name says its upstream before the comma".to_owned(),
        Why::Role(worker, 0) => format!("`{worker}` is an upstream, asked for like a role"),
        Why::Role(role, line) => format!("role `{role}` on line {line}"),
        Why::Preferred(role, worker) => {
            format!("role `{role}` is mapped nowhere, and `{worker}` is the first worker")
        }
        Why::Rule(pattern, line) => format!("rule `{pattern}` on line {line}"),
        Why::Serves(name) => format!("`{name}` is known to serve it"),
        Why::Default(line) => format!("nothing else knows it, and `default` is on line {line}"),
    }
}

fn credential(leg: &Leg) -> String {
    match leg.credential() {
        Credential::Clients => "the client's own, untouched".to_owned(),
        Credential::Providers(Key::Worker(name)) => format!("the key of worker `{name}`"),
        Credential::Providers(Key::Placeholder(_)) => "a placeholder: the server looks at none".to_owned(),
        Credential::Providers(Key::None) => "none".to_owned(),
    }
}
