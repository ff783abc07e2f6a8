//! The roles as agents of one session, for Claude Code's `--agents`: nothing is written into the user's folders.
//! An agent names its role as its model, so that which model plays it is decided by the gateway.

use serde::Serialize;
use serde_json::{Map, Value};
use shared::role::Role;

use crate::config::names::ROLE;
use crate::route::Routes;

/// A system takes no argument above 128 KiB.
const LONGEST: usize = 120 << 10;

/// One agent, as Claude Code reads it.
#[derive(Debug, Serialize)]
struct Agent<'r> {
    description: &'r str,
    prompt: String,
    tools: Vec<&'r str>,
    model: String,
}

/// The agents as one argument, and what the user should know of roles that are left out. No argument where no role
/// leads anywhere.
pub fn argument(roles: &[Role], routes: &Routes) -> (Option<String>, Vec<String>) {
    let (mut agents, mut notes) = (Map::new(), Vec::new());
    let mut length = 2;
    for role in roles {
        let model = format!("{ROLE}{}", role.name);
        if routes.find(&model).is_err() {
            notes.push(format!(
                "no agent for the role `{0}`: map it in config.json, or make a worker",
                role.name
            ));
            continue;
        }
        let agent = Agent {
            description: &role.description,
            prompt: role.system_prompt(),
            tools: role.tool_names(),
            model: model.clone(),
        };
        let Ok(agent) = serde_json::to_value(&agent) else { continue };
        length += model.len() + agent.to_string().len() + 4;
        if length > LONGEST {
            notes.push(format!("no agent for the role `{}`: all roles together are too long", role.name));
            break;
        }
        agents.insert(model, agent);
    }
    let argument = (!agents.is_empty()).then(|| Value::Object(agents).to_string());
    (argument, notes)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use shared::catalogue::Catalogue;
    use shared::env::Env;
    use shared::paths::Paths;
    use shared::role;

    use super::*;
    use crate::config::Config;

    fn routes(text: &str) -> Routes {
        let path = Path::new("/c");
        let config = Config::read(&Env::default(), path, Some(text.as_bytes())).unwrap();
        Routes::settle(&config, path, &Catalogue::bundled().unwrap(), Vec::new()).unwrap()
    }

    #[test]
    fn a_role_that_leads_somewhere_is_an_agent() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::of(&[("HOME", home.path())].into_iter().collect::<Env>());
        let (roles, _) = role::all(&paths, home.path()).unwrap();
        let (argument, notes) = argument(&roles, &routes(r#"{"roles": {"explorer": "ollama,qwen3"}}"#));
        let agents: Value = serde_json::from_str(&argument.unwrap()).unwrap();
        assert_eq!(agents.as_object().unwrap().keys().collect::<Vec<_>>(), ["mo-explorer"]);
        let agent = &agents["mo-explorer"];
        assert_eq!(agent["model"], "mo-explorer");
        assert!(agent["prompt"].as_str().unwrap().len() > 200 && agent["description"] != "");
        assert!(agent["tools"].as_array().unwrap().iter().any(|tool| tool == "Read"));
        assert_eq!(notes.len(), roles.len() - 1);
        assert!(notes.iter().any(|note| note.contains("`reviewer`")));
        let (argument, _) = super::argument(&roles, &routes("{}"));
        assert_eq!(argument, None);
        // All bundled ones fit into one argument.
        let (argument, notes) = super::argument(&roles, &routes(r#"{"default": "ollama,qwen3"}"#));
        assert_eq!(notes, [] as [String; 0]);
        assert!(argument.unwrap().len() < LONGEST);
    }
}
