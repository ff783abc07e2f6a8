//! The roles as agents of one session, for Claude Code's `--agents`: nothing is written into the user's folders.
//! An agent names its role as its model, so that which model plays it is decided by the gateway.

pub mod named;
pub mod register;

use serde::Serialize;
use serde_json::{Map, Value};
use shared::role::Role;

use self::named::Named;
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

/// The roles as agents.
#[derive(Debug, Default)]
pub struct Loaded {
    /// As one argument; none where no role leads anywhere.
    pub argument: Option<String>,
    /// What the user should know of roles that are left out though they lead somewhere.
    pub notes: Vec<String>,
    /// The same for the register.
    pub named: Vec<Named>,
}

/// The roles that lead somewhere, as agents.
pub fn load(roles: &[Role], routes: &Routes) -> Loaded {
    let (mut agents, mut notes, mut named) = (Map::new(), Vec::new(), Vec::new());
    let mut length = 2;
    for role in roles {
        let model = format!("{ROLE}{}", role.name);
        if routes.find(&model).is_err() {
            continue;
        }
        let agent = Agent {
            description: &role.description,
            prompt: role.system_prompt(),
            tools: role.tool_names(),
            model: model.clone(),
        };
        let own = Named::new(format!("role {}", role.name), &model, Some(&model), &agent.prompt);
        let Ok(agent) = serde_json::to_value(&agent) else { continue };
        length += model.len() + agent.to_string().len() + 4;
        if length > LONGEST {
            notes.push(format!("no agent for the role `{}`: all roles together are too long", role.name));
            break;
        }
        agents.insert(model, agent);
        named.push(own);
    }
    let argument = (!agents.is_empty()).then(|| Value::Object(agents).to_string());
    Loaded { argument, notes, named }
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
        let Loaded { argument, notes, named } =
            load(&roles, &routes(r#"{"roles": {"explorer": "ollama,qwen3"}}"#));
        let agents: Value = serde_json::from_str(&argument.unwrap()).unwrap();
        assert_eq!(agents.as_object().unwrap().keys().collect::<Vec<_>>(), ["mo-explorer"]);
        let agent = &agents["mo-explorer"];
        assert_eq!(agent["model"], "mo-explorer");
        assert!(agent["prompt"].as_str().unwrap().len() > 200 && agent["description"] != "");
        assert!(agent["tools"].as_array().unwrap().iter().any(|tool| tool == "Read"));
        assert_eq!((named.len(), named[0].model.as_deref()), (1, Some("mo-explorer")));
        assert_eq!(notes, [] as [String; 0]);
        assert_eq!(load(&roles, &routes("{}")).argument, None);
        // All bundled ones fit into one argument.
        let Loaded { argument, notes, .. } = load(&roles, &routes(r#"{"default": "ollama,qwen3"}"#));
        assert_eq!(notes, [] as [String; 0]);
        assert!(argument.unwrap().len() < LONGEST);
    }
}
