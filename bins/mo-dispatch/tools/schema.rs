//! What each tool takes: read from `tools.json` once, listed to the client, and held against every call.

use serde_json::{Map, Value, json};

/// The tools, but for what they share.
const TOOLS: &str = include_str!("tools.json");
/// One task, as `dispatch_task` takes it alone and `dispatch_tasks` takes many.
const TASK: &str = include_str!("task.json");

/// The most characters of a result that the client may put before the model; above its own limit it would show the
/// first two thousand alone.
const LARGEST: u64 = 500_000;
/// Claude Code hides the tools of plugins behind a search unless they say this.
const ALWAYS: &str = "anthropic/alwaysLoad";
/// Claude Code's own limit of a result, raised.
const SIZE: &str = "anthropic/maxResultSizeChars";

/// Giving tasks away and following them, those of an earlier session too; the others can be searched for.
fn is_always_there(name: &str) -> bool {
    name.starts_with("dispatch_") || name.starts_with("task_") || name == "list_tasks"
}

/// All tools as `tools/list` gives them.
pub fn tools() -> Vec<Map<String, Value>> {
    let tools: Map<String, Value> = serde_json::from_str(TOOLS).unwrap_or_default();
    let task: Map<String, Value> = serde_json::from_str(TASK).unwrap_or_default();
    tools.iter().map(|(name, tool)| listed(name, tool, &task)).collect()
}

/// What this tool takes; nothing where there is no such tool.
pub fn input(name: &str) -> Option<Value> {
    let tools: Map<String, Value> = serde_json::from_str(TOOLS).unwrap_or_default();
    let task: Map<String, Value> = serde_json::from_str(TASK).unwrap_or_default();
    tools.get(name).map(|tool| schema(tool, &task))
}

fn listed(name: &str, tool: &Value, task: &Map<String, Value>) -> Map<String, Value> {
    let is = |mark: &str| tool.get(mark).and_then(Value::as_bool) == Some(true);
    let mut meta = Map::new();
    meta.insert(SIZE.to_owned(), LARGEST.into());
    if is_always_there(name) {
        meta.insert(ALWAYS.to_owned(), true.into());
    }
    let mut listed = Map::new();
    listed.insert("name".to_owned(), name.into());
    for member in ["title", "description"] {
        listed.insert(member.to_owned(), tool.get(member).cloned().unwrap_or_default());
    }
    listed.insert("inputSchema".to_owned(), schema(tool, task));
    listed.insert(
        "annotations".to_owned(),
        json!({"readOnlyHint": is("reads"), "destructiveHint": is("destroys"), "openWorldHint": is("long")}),
    );
    listed.insert("_meta".to_owned(), Value::Object(meta));
    listed
}

fn schema(tool: &Value, task: &Map<String, Value>) -> Value {
    let one_task = || json!({"type": "object", "properties": task, "required": ["title", "prompt"], "additionalProperties": false});
    let mut properties = match tool.get("properties") {
        Some(Value::Object(properties)) => properties.clone(),
        // `dispatch_task` is the task itself.
        _ => return one_task(),
    };
    for property in properties.values_mut() {
        if property.as_str() == Some("id") {
            *property = json!({"type": "string", "minLength": 28, "maxLength": 28, "description": "The task's id: d- and 26 characters."});
        }
        if property.get("items").and_then(Value::as_str) == Some("task")
            && let Some(items) = property.get_mut("items")
        {
            *items = one_task();
        }
    }
    let required = tool.get("required").cloned().unwrap_or_else(|| json!([]));
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_whole_and_the_dispatch_tools_are_always_loaded() {
        let tools = tools();
        assert_eq!(tools.len(), 10);
        for tool in &tools {
            let name = tool["name"].as_str().unwrap();
            assert!(!tool["description"].as_str().unwrap().is_empty(), "{name}");
            assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
            assert_eq!(tool["_meta"][SIZE], LARGEST, "{name}");
            let always = tool["_meta"].get(ALWAYS).is_some();
            let dispatches = name.starts_with("dispatch_") || name.starts_with("task_");
            assert_eq!(always, dispatches || name == "list_tasks", "{name}");
        }
        let many = input("dispatch_tasks").unwrap();
        assert_eq!(many["properties"]["tasks"]["items"], input("dispatch_task").unwrap());
        assert_eq!(input("nothing"), None);
    }
}
