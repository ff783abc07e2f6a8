//! What a model on a script answers: the next step of the newest prompt, or something harmless.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::answer::{Answer, Block};
use super::directive::{Act, Call, Step, Times, parse};
use super::plan::Plan;
use super::request::Request;

/// How often each counted fault has been made already: by session, prompt and place in it.
#[derive(Debug, Default)]
pub(super) struct Faults(HashMap<(String, String, usize), u32>);

impl Faults {
    /// Whether the fault is to be made (again); counts it.
    fn due(&mut self, request: &Request, prompt: &str, place: usize, times: Times) -> bool {
        let Times::First(limit) = times else { return true };
        let session = request.session.clone().or_else(|| request.key.clone()).unwrap_or_default();
        let made = self.0.entry((session, prompt.to_owned(), place)).or_default();
        let due = *made < limit;
        *made += u32::from(due);
        due
    }
}

/// The answer to a request.
pub(super) fn answer(request: &Request, faults: &mut Faults) -> Answer {
    if let Some(document) = structured(request) {
        return Answer::say(document.to_string());
    }
    let (prompt, mut turns) = request.prompt();
    let steps = parse(&prompt);
    let steps = if steps.is_empty() { left_over(request) } else { steps };
    if steps.is_empty() {
        return Answer::say(asked_word(&prompt).unwrap_or("ok"));
    }
    for (place, step) in steps.iter().take_while(|step| step.act != Act::Then).enumerate() {
        if let Act::Fail(status, times) = step.act {
            // An error leaves no turn in the conversation: it stands before the turn that comes after it.
            if turns == 0 && faults.due(request, &prompt, place, times) {
                return delivered(Answer::fail(status), step, false);
            }
            continue;
        }
        if turns == 0 {
            let cut = step.cut.is_some_and(|times| faults.due(request, &prompt, place, times));
            return delivered(taken(request, step), step, cut);
        }
        turns -= 1;
    }
    Answer::say("ok")
}

/// What an earlier prompt holds for one without directives of its own.
fn left_over(request: &Request) -> Vec<Step> {
    let earlier = request.prompts().into_iter().map(|prompt| parse(&prompt)).find(|steps| !steps.is_empty());
    let mut steps = earlier.unwrap_or_default().into_iter();
    steps.by_ref().find(|step| step.act == Act::Then);
    steps.collect()
}

fn taken(request: &Request, step: &Step) -> Answer {
    let mut blocks = step.before.clone();
    match &step.act {
        Act::Ok | Act::Then => blocks.push(Block::Text("ok".into())),
        Act::Say(text) => blocks.push(Block::Text(text.clone())),
        Act::Report => blocks.push(Block::Text(request.results().join("\n"))),
        Act::Tools(calls) => {
            match calls.iter().map(|call| offered(request, call)).collect::<Option<Vec<_>>>() {
                Some(tools) => blocks.extend(tools),
                None => return untold(&format!("none of {calls:?} is among {:?}", request.tools())),
            }
        }
        Act::Fail(status, _) => return Answer::fail(*status),
        Act::Quota(window, reset) => return Answer::quota(window, *reset),
        Act::Hang => return Answer::hang(),
        Act::Wrong(line) => return untold(&format!("cannot make sense of `{line}`")),
    }
    Answer::message(blocks)
}

/// Says in the conversation what is wrong with a script: no test passes with it, and its author sees it.
fn untold(what: &str) -> Answer {
    Answer::say(format!("scripted provider: {what}"))
}

fn delivered(mut answer: Answer, step: &Step, cut: bool) -> Answer {
    answer.first_byte_after = step.slow;
    answer.pace = step.pace;
    answer.usage = step.usage;
    answer.cut = cut;
    answer.headers.extend(step.plan.iter().flat_map(Plan::headers));
    answer
}

/// The call as a block, with the name under which the client offers the tool. A tool that is asked for by its exact
/// name is called whether it is offered or not: how the client refuses it is worth a test.
fn offered(request: &Request, call: &Call) -> Option<Block> {
    let tools = request.tools();
    let known = call.names.iter().find_map(|name| {
        tools.iter().find(|tool| *tool == name || call.loose && tool.ends_with(&format!("__{name}")))
    });
    let name = match known {
        Some(name) => (*name).to_owned(),
        None if call.loose => return None,
        None => call.names.first()?.clone(),
    };
    Some(Block::Tool { name, input: call.input.clone() })
}

/// The word that a smoke test asks for.
fn asked_word(prompt: &str) -> Option<&str> {
    let line = prompt.lines().rfind(|line| line.to_lowercase().contains("exactly this word"))?;
    let (_, rest) = line.rsplit_once(':')?;
    let word = rest.split_whitespace().next()?;
    Some(word.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '-'))
}

/// A document of the shape that the request prescribes: background calls (titles, summaries) do so.
fn structured(request: &Request) -> Option<Value> {
    let format = &request.body["output_config"]["format"];
    let format = if format.is_null() { &request.body["output_format"] } else { format };
    (format["type"] == "json_schema").then(|| example(&format["schema"]))
}

fn example(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            Value::Object(fields.map(|(name, field)| (name.clone(), example(field))).collect::<Map<_, _>>())
        }
        Some("array") => json!([]),
        Some("boolean") => json!(false),
        Some("integer" | "number") => json!(0),
        _ => json!("Scripted task"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::Body;
    use super::super::request::tests::asking;
    use super::*;

    fn conversation(prompt: &str, turns: usize) -> Request {
        let mut messages = vec![json!({"role": "user", "content": prompt})];
        for turn in 0..turns {
            let id = format!("t{turn}");
            messages.push(json!({"role": "assistant", "content": [{"type": "tool_use", "id": id}]}));
            let result =
                json!({"type": "tool_result", "tool_use_id": id, "content": format!("result {turn}")});
            messages.push(json!({"role": "user", "content": [result]}));
        }
        asking(&Value::Array(messages), &["Bash", "Task", "mcp__plugin_mo_dispatch__list"])
    }

    fn said(prompt: &str, turns: usize) -> String {
        match answer(&conversation(prompt, turns), &mut Faults::default()).body {
            Body::Message(blocks) => match blocks.last() {
                Some(Block::Text(text)) => text.clone(),
                Some(Block::Tool { name, input }) => format!("{name} {input}"),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_step_is_taken_a_turn() {
        let prompt = "#bash ls\n#report\n#say more";
        assert!(said(prompt, 0).starts_with("Bash "));
        assert_eq!(said(prompt, 1), "result 0");
        assert_eq!(said(prompt, 2), "more");
        assert_eq!(said(prompt, 3), "ok");
    }

    #[test]
    fn a_prompt_without_directives_is_answered_as_an_earlier_one_said() {
        let asked = |second: &str| {
            let mut request = conversation("#say first\n#then\n#say second", 1);
            let messages = request.body["messages"].as_array_mut().expect("messages");
            messages.push(json!({"role": "user", "content": second}));
            match answer(&request, &mut Faults::default()).body {
                Body::Message(blocks) => blocks,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(said("#say first\n#then\n#say second", 0), "first");
        assert_eq!(asked("the check failed:\n# 1 test"), [Block::Text("second".into())]);
        assert_eq!(asked("#say its own"), [Block::Text("its own".into())]);
    }

    #[test]
    fn a_counted_fault_ends_and_is_no_turn() {
        let (prompt, mut faults) = ("#bash ls\n#fail 529 x2\n#say on", Faults::default());
        let statuses: Vec<u16> =
            (0..4).map(|_| answer(&conversation(prompt, 1), &mut faults).status()).collect();
        assert_eq!(statuses, [529, 529, 200, 200]);
        assert_eq!(said(prompt, 2), "ok");
    }

    #[test]
    fn a_smoke_test_gets_its_word() {
        assert_eq!(said("Reply with exactly this word and nothing else: pong-7", 0), "pong-7");
        assert_eq!(said("hello", 0), "ok");
    }

    #[test]
    fn tools_are_called_by_the_name_they_are_offered_under() {
        assert!(said("#agent Explore look", 0).starts_with("Task "));
        assert_eq!(said("#mcp list", 0), "mcp__plugin_mo_dispatch__list {}");
        assert!(said("#mcp other", 0).starts_with("scripted provider: none of"));
    }

    #[test]
    fn a_prescribed_shape_is_kept() {
        let mut request = conversation("#fail 500", 0);
        let properties = json!({"title": {"type": "string"}, "isNew": {"type": "boolean"}});
        let schema = json!({"type": "object", "properties": properties});
        request.body["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
        let document = json!({"title": "Scripted task", "isNew": false}).to_string();
        assert_eq!(answer(&request, &mut Faults::default()), Answer::say(document));
    }
}
