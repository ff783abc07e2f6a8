//! Whether it can be told whose model a request asks for. What cannot be told goes to nobody: it may be meant for a
//! provider, and Anthropic would get it with the client's login. Claude Code sends nothing of the kind.

use shared::flatten::flatten;

use crate::config::names::is_anthropics;
use crate::scan::{Body, Malformed, Value};
use crate::wire::head::Head;

/// The longest name that is shown.
const LONGEST: usize = 200;
/// The member that decides, as it stands.
const MODEL: &[u8] = b"\"model\"";
/// What stands in a name that means the same and is written otherwise: of `m`, `o`, `d`, `e` and `l` each escape begins
/// so.
const ESCAPE: &[u8] = b"\\u006";

/// Behind each doubt.
const END: &str = "so it cannot be told whose model is asked for, and it was sent to nobody";

/// What makes a request doubtful whose body cannot be looked into.
pub fn packed(head: &Head, body: &[u8]) -> Option<String> {
    let is_packed = |coding: &[u8]| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity");
    (!body.is_empty() && head.all("content-encoding").any(is_packed))
        .then(|| format!("the request's body is packed (content-encoding), {END}"))
}

/// What makes a body doubtful that is no JSON.
pub fn unreadable(why: Malformed) -> String {
    format!("the request's body cannot be read as JSON ({why}), {END}")
}

/// What makes a body doubtful that was read.
pub fn doubt(body: &Body<'_>) -> Option<String> {
    if body.names_models() {
        return Some(format!("`model` stands in the request's body twice, {END}"));
    }
    let is_name = |value: Value<'_>| value.text().is_some_and(|name| !name.is_empty());
    let is_odd = body.get("model").is_some_and(|value| !is_name(value));
    is_odd.then(|| format!("the `model` of the request's body is no name, {END}"))
}

/// Whether a body whose first member is its model may name another one further on. Seen without reading it: a member
/// whose value is an object, as the schema of a tool has, names none.
pub fn may_follow(body: &[u8]) -> bool {
    let names = |at: usize| {
        let rest = body.get(at + MODEL.len()..).unwrap_or_default().trim_ascii_start();
        rest.strip_prefix(b":").is_some_and(|value| value.trim_ascii_start().first() != Some(&b'{'))
    };
    memchr::memmem::find_iter(body, MODEL).skip(1).any(names) || memchr::memmem::find(body, ESCAPE).is_some()
}

/// What makes a request doubtful on a path that only Anthropic has: that it asks for a model of somebody else, or may.
pub fn elsewhere(head: &Head, bytes: &[u8]) -> Option<String> {
    if bytes.trim_ascii().is_empty() {
        return None;
    }
    let asks = may_ask(head.path());
    if let Some(doubt) = packed(head, bytes).filter(|_| asks) {
        return Some(doubt);
    }
    let body = match Body::read(bytes) {
        Ok(body) => body,
        // What is no object and asks for nothing names no model: a file, a list of another protocol's calls.
        Err(why) => return (asks || may_name(bytes)).then(|| unreadable(why)),
    };
    let doubt = doubt(&body).filter(|_| asks || body.names_models());
    let batch = body.whole().get("requests").filter(|_| asks);
    let batch = batch.into_iter().flat_map(Value::items);
    let models = batch.filter_map(|request| request.get("params")?.get("model")).chain(body.get("model"));
    let foreign = models.filter_map(Value::text).find(|model| !model.is_empty() && !is_anthropics(model));
    doubt.or_else(|| {
        let (model, path) = (flatten(&foreign?, LONGEST), flatten(head.path(), LONGEST));
        Some(format!(
            "`{model}` is no model of Anthropic's, and {} {path} is Anthropic's alone: other models are asked for by POST \
             at /v1/messages and /v1/messages/count_tokens; it was sent to nobody",
            head.method()
        ))
    })
}

/// Whether an upstream may take this path for one at which models are asked for, whatever it reads in it.
fn may_ask(path: &str) -> bool {
    let path = unescaped(&unescaped(path.as_bytes())).to_ascii_lowercase();
    [&b"message"[..], b"complet", b"responses"].iter().any(|word| memchr::memmem::find(&path, word).is_some())
}

fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        let digits =
            after.get(..2).filter(|_| byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        plain.push(code.unwrap_or(byte));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    plain
}

/// Whether what is no JSON looks like an object that names a model.
fn may_name(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let has = |word: &[u8]| memchr::memmem::find(bytes, word).is_some();
    bytes.first() == Some(&b'{') && (has(MODEL) || has(ESCAPE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_model_is_noticed_however_it_is_written_and_a_tools_schema_is_none() {
        for (body, may) in [
            (
                "{\"model\":\"claude-x\",\"tools\":[{\"properties\":{\"model\":{\"type\":\"string\"}}}]}",
                false,
            ),
            ("{\"model\":\"claude-x\",\"messages\":[{\"content\":\"{\\\"model\\\":\\\"glm\\\"}\"}]}", false),
            ("{\"model\":\"claude-x\",\"a\":\"\\u001b\"}", false),
            ("{\"model\":\"claude-x\",\"model\":\"glm\"}", true),
            ("{\"model\":\"claude-x\",\"model\" \n: [\"glm\"]}", true),
            ("{\"model\":\"claude-x\",\"mod\\u0065l\":\"glm\"}", true),
            ("{\"model\":\"claude-x\",\"\\u006D\\u006F\\u0064el\":\"glm\"}", true),
            ("{\"model\":\"claude-x\",\"messages\":[{\"input\":{\"model\":\"haiku\"}}]}", true),
            ("{\"model\":\"claude-x\",\"model\":", true),
        ] {
            assert_eq!(may_follow(body.as_bytes()), may, "{body}");
        }
    }

    #[test]
    fn a_path_is_known_however_it_is_written() {
        for path in [
            "/v1/messages/",
            "/v1//messages",
            "/v1/messages/batches",
            "/V1/Messages",
            "/v1/%6Dessages",
            "/v1/%256dessages",
            "/v1/./messages",
            "/v1/messages;x",
            "/v1/complete",
            "/v1/chat/completions",
        ] {
            assert!(may_ask(path), "{path}");
        }
        for path in ["/v1/files", "/api/event_logging/v2/batch", "/v1/models", "/", "/%", "/%zz"] {
            assert!(!may_ask(path), "{path}");
        }
    }

    #[test]
    fn a_body_that_was_read_names_one_model_or_none() {
        for (body, part) in [
            ("{\"model\":\"claude-x\",\"a\":{\"model\":\"glm\"}}", None),
            ("{\"messages\":[]}", None),
            ("{\"model\":\"claude-x\",\"model\":\"claude-x\"}", Some("twice")),
            ("{\"mod\\u0065l\":\"claude-x\",\"model\":\"glm\"}", Some("twice")),
            ("{\"model\":[\"glm\"]}", Some("no name")),
            ("{\"model\":null}", Some("no name")),
            ("{\"model\":\"\"}", Some("no name")),
            ("{\"model\":{\"id\":\"glm\"}}", Some("no name")),
        ] {
            let told = doubt(&Body::read(body.as_bytes()).unwrap());
            assert_eq!(told.is_some(), part.is_some(), "{body}");
            assert!(told.unwrap_or_default().contains(part.unwrap_or_default()), "{body}");
        }
    }
}
