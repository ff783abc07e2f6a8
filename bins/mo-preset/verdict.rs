//! What an endpoint's answer, or the lack of one, means. Only judges: asking is left to `probe`.

use std::io::{self, ErrorKind};

use serde_json::Value;
use shared::exit::Exit;
use shared::flatten::flatten;

/// What came back, as far as it was read.
#[derive(Debug, Default)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The `content-type` header.
    pub content_type: String,
    /// The `location` header.
    pub location: Option<String>,
    /// The first bytes of the body.
    pub body: Vec<u8>,
}

/// What is behind a URL.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It speaks the Messages API.
    Speaks {
        /// It asked for a key.
        wants_key: bool,
        /// Its answer had the very shape of the API; otherwise it only looks like it.
        certain: bool,
    },
    /// It answers, but not as this API does.
    OtherApi(String),
    /// It sends elsewhere.
    Redirect(String),
    /// An Ollama from before it spoke this API.
    OldOllama(String),
    /// It speaks HTTP but cannot serve now.
    Unavailable(u16),
    /// The name is not known.
    NoHost(String),
    /// Nothing listens there, or no way leads there.
    Refused(String),
    /// No encrypted connection could be made.
    Tls(String),
    /// No answer in time.
    TimedOut,
}

impl Verdict {
    /// The verdict's word in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Speaks { .. } => "speaks-messages",
            Self::OtherApi(_) => "other-api",
            Self::Redirect(_) => "redirect",
            Self::OldOllama(_) => "old-ollama",
            Self::Unavailable(_) => "unavailable",
            Self::NoHost(_) => "no-host",
            Self::Refused(_) => "refused",
            Self::Tls(_) => "tls",
            Self::TimedOut => "timed-out",
        }
    }

    /// The exit code it deserves: another one for each thing a script would do.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Speaks { .. } => Exit::Done,
            Self::OtherApi(_) | Self::Redirect(_) | Self::OldOllama(_) => Exit::CouldNot,
            Self::Unavailable(_) | Self::Refused(_) => Exit::Unavailable,
            Self::Tls(_) => Exit::Io,
            Self::NoHost(_) => Exit::Config,
            Self::TimedOut => Exit::TimedOut,
        }
    }

    /// The verdict in words that follow the URL.
    pub fn words(&self) -> String {
        match self {
            Self::Speaks { wants_key: true, certain: true } => {
                "speaks the Messages API, and asks for a key".to_owned()
            }
            Self::Speaks { wants_key: true, certain: false } => {
                "asks for a key, as an endpoint of the Messages API does".to_owned()
            }
            Self::Speaks { wants_key: false, certain: true } => {
                "speaks the Messages API, and asks for no key".to_owned()
            }
            Self::Speaks { wants_key: false, certain: false } => {
                "takes messages, and asks for no key".to_owned()
            }
            Self::OtherApi(what) => format!("is reachable, but not this API: {what}"),
            Self::Redirect(to) => format!("sends elsewhere: {to}"),
            Self::OldOllama(version) => {
                format!("is Ollama {version}, which does not speak this API; 0.14.0 and later do")
            }
            Self::Unavailable(status) => format!("is reachable, but cannot serve now ({status})"),
            Self::NoHost(why) => format!("has a host that cannot be found: {why}"),
            Self::Refused(why) => format!("cannot be reached: {why}"),
            Self::Tls(why) => format!("has TLS trouble: {why}"),
            Self::TimedOut => "gave no answer in time".to_owned(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Speaks { .. } => None,
            Self::OtherApi(_) => Some(
                "the base URL is what stands before /v1/messages; the provider's page on Claude Code names it",
            ),
            Self::Redirect(_) => Some(
                "use the URL it sends to: on the way a client drops the key, or hands it to a host you did not choose",
            ),
            Self::OldOllama(_) => Some("update it from https://ollama.com/download"),
            Self::Unavailable(_) => Some("try again later"),
            Self::NoHost(_) => Some("check the spelling, and that this machine is online"),
            Self::Refused(_) => Some("check the port, and that the server runs"),
            Self::Tls(_) => Some(
                "a server without TLS is http://, not https://; where a company's proxy signs, Claude Code needs NODE_EXTRA_CA_CERTS",
            ),
            Self::TimedOut => Some("raise --timeout, or check for a firewall on the way"),
        }
    }
}

/// Judges the answer to a request for a message that had no key.
pub fn judge(answer: &Answer) -> Verdict {
    let body: Option<Value> = serde_json::from_slice(&answer.body).ok().filter(Value::is_object);
    let certain = body.as_ref().is_some_and(is_api_error);
    match (answer.status, body) {
        (200..=299, Some(body)) if certain || is(&body, "message") => {
            Verdict::Speaks { wants_key: false, certain: true }
        }
        (300..=399, _) => Verdict::Redirect(target(answer.location.as_deref())),
        (401 | 403, Some(_)) => Verdict::Speaks { wants_key: true, certain },
        (400 | 422, Some(body)) if certain || body.get("error").is_some() => {
            Verdict::Speaks { wants_key: false, certain }
        }
        // Without a model's name there is no model: said by the API, and not by a server that lacks the path.
        (404, Some(body)) if certain && error_text(&body).contains("model") => {
            Verdict::Speaks { wants_key: false, certain }
        }
        (402 | 408 | 429 | 500 | 502..=599, _) => Verdict::Unavailable(answer.status),
        (status, _) => Verdict::OtherApi(other(status, answer)),
    }
}

/// Judges a connection that failed.
pub fn judge_failure(error: &ureq::Error, https: bool) -> Verdict {
    match error {
        ureq::Error::Timeout(_) => Verdict::TimedOut,
        ureq::Error::HostNotFound => Verdict::NoHost("no address".to_owned()),
        ureq::Error::Tls(why) => Verdict::Tls((*why).to_owned()),
        ureq::Error::Rustls(why) => Verdict::Tls(flatten(&why.to_string(), 160)),
        ureq::Error::Io(error) => judge_io(error, https),
        ureq::Error::ConnectionFailed | ureq::Error::ConnectProxyFailed(_) => Verdict::Refused(reason(error)),
        other => Verdict::OtherApi(format!("its answer is no HTTP ({})", reason(other))),
    }
}

fn judge_io(error: &io::Error, https: bool) -> Verdict {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Verdict::TimedOut,
        ErrorKind::ConnectionRefused => Verdict::Refused("connection refused".to_owned()),
        ErrorKind::InvalidData if https => Verdict::Tls(reason(error)),
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe => {
            let what = "it closed the connection without an answer".to_owned();
            if https { Verdict::Tls(what) } else { Verdict::OtherApi(what) }
        }
        _ => Verdict::Refused(reason(error)),
    }
}

/// The innermost reason, in one line.
fn reason(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    flatten(text.split(" (os error").next().unwrap_or_default(), 160)
}

fn is(body: &Value, kind: &str) -> bool {
    body.get("type").and_then(Value::as_str) == Some(kind)
}

fn is_api_error(body: &Value) -> bool {
    is(body, "error")
        && body.get("error").is_some_and(|error| error.get("type").is_some_and(Value::is_string))
}

fn error_text(body: &Value) -> &str {
    body.get("error").and_then(|error| error.get("message")).and_then(Value::as_str).unwrap_or_default()
}

fn other(status: u16, answer: &Answer) -> String {
    let page = answer.content_type.contains("html") || answer.body.trim_ascii_start().starts_with(b"<");
    match status {
        _ if page => format!("it answers with a web page ({status})"),
        404 | 405 | 410 => format!("it has nothing at /v1/messages ({status})"),
        401 | 403 => format!("it refuses, but not as this API does ({status})"),
        _ => format!("its answer has another shape ({status})"),
    }
}

/// Where a redirect leads, without what may hold a secret.
fn target(location: Option<&str>) -> String {
    let location = location.unwrap_or_default();
    let bare = location.split(['?', '#']).next().unwrap_or_default();
    let bare = match bare.split_once("://") {
        Some((scheme, rest)) => {
            format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, host)| host))
        }
        None => bare.to_owned(),
    };
    if bare.is_empty() { "it does not say where".to_owned() } else { flatten(&bare, 200) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn judged(status: u16, content_type: &str, body: &str) -> Verdict {
        judge(&Answer { status, content_type: content_type.to_owned(), location: None, body: body.into() })
    }

    const JSON: &str = "application/json";
    const API_ERROR: &str = r#"{"type":"error","error":{"type":"authentication_error","message":"x"}}"#;

    #[test]
    fn an_auth_error_without_a_key_is_the_good_sign() {
        assert_eq!(judged(401, JSON, API_ERROR), Verdict::Speaks { wants_key: true, certain: true });
        assert_eq!(judged(403, JSON, API_ERROR), Verdict::Speaks { wants_key: true, certain: true });
        let loose = r#"{"error":{"message":"Authentication Fails","type":"authentication_error"}}"#;
        assert_eq!(judged(401, JSON, loose), Verdict::Speaks { wants_key: true, certain: false });
    }

    #[test]
    fn a_server_without_keys_complains_of_the_empty_request() {
        let speaks = Verdict::Speaks { wants_key: false, certain: true };
        assert_eq!(judged(400, JSON, API_ERROR), speaks);
        let no_model =
            r#"{"type":"error","error":{"type":"not_found_error","message":"model '' not found"}}"#;
        assert_eq!(judged(404, JSON, no_model), speaks);
        assert_eq!(judged(200, JSON, r#"{"type":"message","content":[]}"#), speaks);
        assert_eq!(
            judged(400, JSON, r#"{"error":{"code":400}}"#),
            Verdict::Speaks { wants_key: false, certain: false }
        );
    }

    #[test]
    fn another_api_is_told() {
        for (status, content_type, body, part) in [
            (404, JSON, r#"{"error":{"message":"Invalid URL"}}"#, "nothing at /v1/messages"),
            (
                404,
                JSON,
                r#"{"type":"error","error":{"type":"not_found_error","message":"Not Found"}}"#,
                "nothing at",
            ),
            (404, "text/plain", "404 page not found", "nothing at"),
            (405, JSON, "{}", "nothing at"),
            (200, "text/html", "hello", "web page"),
            (200, "", " <!doctype html>", "web page"),
            (403, "text/html", "<h1>blocked</h1>", "web page"),
            (401, "text/plain", "login", "not as this API does"),
            (200, JSON, r#"{"object":"list"}"#, "another shape"),
            (200, JSON, "[]", "another shape"),
            (418, JSON, "", "another shape"),
        ] {
            let verdict = judged(status, content_type, body);
            assert_eq!(verdict.exit(), Exit::CouldNot, "{status} {body}");
            assert!(verdict.words().contains(part), "{status} {body}: {}", verdict.words());
        }
    }

    #[test]
    fn a_redirect_is_shown_without_its_secrets() {
        for (location, shown) in [
            (Some("https://user:sk-secret@h/login?token=sk-secret#x"), "https://h/login"),
            (Some("/login?next=/v1"), "/login"),
            (Some("\u{1b}[31mx"), "[31mx"),
            (None, "it does not say where"),
        ] {
            let answer = Answer { status: 302, location: location.map(str::to_owned), ..Answer::default() };
            assert_eq!(judge(&answer), Verdict::Redirect(shown.to_owned()));
        }
    }

    #[test]
    fn failures_are_told_apart() {
        let io = |kind: ErrorKind| ureq::Error::Io(io::Error::from(kind));
        for (error, https, word, exit) in [
            (ureq::Error::HostNotFound, true, "no-host", Exit::Config),
            (io(ErrorKind::ConnectionRefused), true, "refused", Exit::Unavailable),
            (io(ErrorKind::HostUnreachable), true, "refused", Exit::Unavailable),
            (io(ErrorKind::InvalidData), true, "tls", Exit::Io),
            (io(ErrorKind::UnexpectedEof), true, "tls", Exit::Io),
            (io(ErrorKind::UnexpectedEof), false, "other-api", Exit::CouldNot),
            (ureq::Error::Tls("x"), true, "tls", Exit::Io),
            (io(ErrorKind::TimedOut), false, "timed-out", Exit::TimedOut),
        ] {
            let verdict = judge_failure(&error, https);
            assert_eq!((verdict.word(), verdict.exit()), (word, exit), "{error:?}");
            assert!(verdict.hint().is_some());
        }
        assert_eq!(judged(529, JSON, API_ERROR), Verdict::Unavailable(529));
        assert_eq!(judged(429, JSON, API_ERROR).exit(), Exit::Unavailable);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        #[test]
        fn whatever_comes_back_the_words_are_one_plain_line(
            status in 100_u16..1000,
            content_type in "(application/json|text/html|)",
            location in proptest::option::of("\\PC{0,20}|[\\x00-\\x1f]{0,5}"),
            body in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let words = judge(&Answer { status, content_type, location, body }).words();
            prop_assert!(!words.is_empty() && !words.contains(char::is_control), "{words:?}");
        }
    }
}
