//! What is said to Claude Code on its standard input in stream-json: messages of the user, answers to its questions.

use serde::Serialize;
use serde_json::value::RawValue;

/// A message of the user; `uuid` is how the client names it when it tells what became of it.
pub fn message(text: &str, session: &str, uuid: &str) -> Vec<u8> {
    line(&User {
        kind: "user",
        message: Message { role: "user", content: text },
        parent_tool_use_id: None,
        session_id: session,
        uuid,
    })
}

/// Leave for a tool, with the input as it was asked for.
pub fn allow(request: &str, input: &RawValue) -> Vec<u8> {
    answer(request, Answer::Allow { updated_input: input })
}

/// A refusal, in words for the model.
pub fn deny(request: &str, why: &str) -> Vec<u8> {
    answer(request, Answer::Deny { message: why })
}

fn answer(request: &str, answer: Answer) -> Vec<u8> {
    line(&Control {
        kind: "control_response",
        response: Response { subtype: "success", request_id: request, response: answer },
    })
}

fn line(value: &impl Serialize) -> Vec<u8> {
    // Text and raw JSON always can be written.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

#[derive(Serialize)]
struct User<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    message: Message<'a>,
    parent_tool_use_id: Option<&'a str>,
    session_id: &'a str,
    uuid: &'a str,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
struct Control<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    response: Response<'a>,
}

#[derive(Serialize)]
struct Response<'a> {
    subtype: &'a str,
    request_id: &'a str,
    response: Answer<'a>,
}

#[derive(Serialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
enum Answer<'a> {
    Allow {
        #[serde(rename = "updatedInput")]
        updated_input: &'a RawValue,
    },
    Deny {
        message: &'a str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: Vec<u8>) -> String {
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn each_is_one_line() {
        assert_eq!(
            text(message("a\nb", "s", "u")),
            "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"a\\nb\"},\
             \"parent_tool_use_id\":null,\"session_id\":\"s\",\"uuid\":\"u\"}\n"
        );
        let input = RawValue::from_string(r#"{"command": "x"}"#.to_owned()).unwrap();
        assert_eq!(
            text(allow("r", &input)),
            "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"r\",\
             \"response\":{\"behavior\":\"allow\",\"updatedInput\":{\"command\": \"x\"}}}}\n"
        );
        assert!(text(deny("r", "no")).contains("{\"behavior\":\"deny\",\"message\":\"no\"}"));
    }
}
