//! The provider over real sockets: what a client sees.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use super::*;

struct Reply {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One request over a connection of its own.
fn send(provider: &Provider, method: &str, path: &str, headers: &str, body: &str) -> Reply {
    let mut client = TcpStream::connect(("127.0.0.1", provider.port())).expect("the provider listens");
    let length = body.len();
    let text = format!("{method} {path} HTTP/1.1\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
    client.write_all(text.as_bytes()).expect("it reads");
    client.shutdown(std::net::Shutdown::Write).expect("half of the connection closes");
    let mut bytes = Vec::new();
    let _ = client.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    let mut body = bytes[end..].to_vec();
    if head.contains("transfer-encoding: chunked") {
        body = unchunked(&body);
    }
    Reply { status, head, body }
}

/// The bytes in the chunks that came whole.
fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(&String::from_utf8_lossy(&rest[..end]), 16).expect("a chunk size");
        if size == 0 || rest.len() < end + 4 + size {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    body
}

const KEYED: &str = "Authorization: Bearer id.secret\r\nanthropic-version: 2023-06-01\r\n";

fn ask(provider: &Provider, prompt: &str, stream: bool) -> Reply {
    let message = json!({"role": "user", "content": prompt});
    let body = json!({"model": "m-1", "max_tokens": 9, "stream": stream, "messages": [message]});
    send(provider, "POST", "/v1/messages?beta=true", KEYED, &body.to_string())
}

#[test]
fn a_message_comes_as_a_document_or_as_a_stream_and_is_accounted() {
    let provider = Provider::start();
    let whole = ask(&provider, "#usage 1 2 3 4\n#say hi", false).json();
    assert_eq!(whole["content"][0]["text"], "hi");
    let streamed = ask(&provider, "hello", true).text();
    for part in ["event: message_start\n", "\"text\":\"ok\"", "event: message_stop\n"] {
        assert!(streamed.contains(part), "{part} is not in {streamed}");
    }
    let served = provider.served();
    assert_eq!(served.len(), 2);
    assert_eq!(served[0].usage, Usage { input: 1, cache_creation: 2, cache_read: 3, output: 4 });
    assert_eq!(whole["id"], served[0].id);
    assert!(streamed.contains(&served[1].id) && served[1].complete);
    assert_eq!(provider.total(), served[0].usage + served[1].usage);
    assert_eq!(provider.total().fresh(), served[0].usage.fresh() + served[1].usage.fresh());
    let asked = provider.asked();
    assert_eq!((asked[1].key.as_deref(), asked[1].model.as_deref()), (Some("id.secret"), Some("m-1")));
    assert_eq!(asked[1].status, 200);
}

#[test]
fn a_wrong_or_half_key_is_refused() {
    let provider = Provider::setup().keys(["id.secret"]).start();
    assert_eq!(ask(&provider, "x", false).status, 200);
    for headers in ["", "x-api-key: id\r\n", "Authorization: Bearer secret\r\n", "Authorization: Bearer \r\n"]
    {
        let reply = send(&provider, "POST", "/v1/messages", headers, "{}");
        assert_eq!((reply.status, &reply.json()["error"]["type"]), (401, &json!("authentication_error")));
        assert!(reply.json()["request_id"].as_str().is_some_and(|id| reply.head.contains(id)));
    }
    let x_api_key = "X-Api-Key: id.secret\r\nanthropic-version: 2023-06-01\r\n";
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "x"}]}).to_string();
    let counted = send(&provider, "POST", "/v1/messages/count_tokens?beta=true", x_api_key, &body);
    assert!(counted.json()["input_tokens"].is_u64());
}

#[test]
fn what_is_not_there_is_told_as_the_real_thing_tells_it() {
    let provider = Provider::setup().models(["m-2"]).base_path("/api/anthropic").start();
    let html = ask(&provider, "x", false);
    assert!(html.status == 404 && html.head.contains("text/html"));
    let body = json!({"model": "m-1", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]});
    let unknown = send(&provider, "POST", "/api/anthropic/v1/messages", KEYED, &body.to_string());
    assert_eq!((unknown.status, unknown.json()["error"]["message"].as_str()), (404, Some("model: m-1")));
    let method = send(&provider, "GET", "/api/anthropic/v1/messages", KEYED, "");
    assert_eq!(method.status, 405);
    assert!(provider.url().ends_with("/api/anthropic"));
    assert!(provider.served().is_empty());
}

#[test]
fn requests_that_no_client_may_send_are_refused() {
    let provider = Provider::start();
    let orphan =
        json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}]);
    let unanswered = json!([
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
        {"role": "user", "content": "x"},
    ]);
    for messages in [json!([]), orphan, unanswered] {
        let body = json!({"model": "m", "max_tokens": 1, "messages": messages}).to_string();
        let reply = send(&provider, "POST", "/v1/messages", KEYED, &body);
        assert_eq!(
            (reply.status, &reply.json()["error"]["type"]),
            (400, &json!("invalid_request_error")),
            "{body}"
        );
    }
    assert_eq!(send(&provider, "POST", "/v1/messages", KEYED, "no json").status, 400);
}

#[test]
fn faults_come_as_scripted() {
    let provider = Provider::start();
    assert_eq!(ask(&provider, "#fail 529", true).json()["error"]["type"], "overloaded_error");
    assert!(ask(&provider, "#fail 429", true).head.contains("retry-after: 1\r\n"));
    let quota = ask(&provider, "#quota five_hour 1790000000", true);
    assert!(quota.head.contains("anthropic-ratelimit-unified-5h-reset: 1790000000\r\n"), "{}", quota.head);
    let cut = ask(&provider, "#cut\n#say never whole", true).text();
    assert!(cut.contains("message_start") && !cut.contains("message_stop"));
    let served = provider.served();
    assert_eq!((served.len(), served[0].complete, served[0].usage.output), (1, false, 1));
    let start = Instant::now();
    assert_eq!(ask(&provider, "#slow 30\n#say late", false).status, 200);
    assert!(start.elapsed() >= Duration::from_millis(30));
}

#[test]
fn rules_come_before_the_queue_and_the_queue_before_the_script() {
    let provider = Provider::start();
    provider.next(Answer::say("queued"));
    provider.on(|request| request.everything().contains("rule").then(|| Answer::fail(500)));
    assert_eq!(ask(&provider, "rule", false).status, 500);
    assert!(ask(&provider, "x", false).text().contains("queued"));
    assert!(ask(&provider, "#say scripted", false).text().contains("scripted"));
}

#[test]
fn what_is_compressed_can_be_read() {
    let provider = Provider::setup().gzip().start();
    let body = json!({"model": "m", "max_tokens": 1, "stream": true, "messages": [{"role": "user", "content": "x"}]});
    let headers = format!("{KEYED}accept-encoding: gzip, br\r\n");
    let reply = send(&provider, "POST", "/v1/messages", &headers, &body.to_string());
    assert!(reply.head.contains("content-encoding: gzip"));
    let mut text = String::new();
    GzDecoder::new(reply.body.as_slice()).read_to_string(&mut text).expect("it unpacks");
    assert!(text.contains("message_stop"));
    assert!(ask(&provider, "x", true).text().contains("message_stop"), "not asked for, not compressed");
}

#[test]
fn it_can_be_an_ollama() {
    let provider = Provider::setup().ollama("0.14.2", ["qwen3:8b"]).without_request_ids().start();
    assert_eq!(send(&provider, "GET", "/", "", "").text(), "Ollama is running");
    assert_eq!(send(&provider, "GET", "/api/version", "", "").json()["version"], "0.14.2");
    let tags = send(&provider, "GET", "/api/tags", "", "");
    assert_eq!(tags.json()["models"][0]["name"], "qwen3:8b");
    assert!(!tags.head.contains("request-id"));
    assert_eq!(send(&Provider::start(), "GET", "/api/tags", "", "").status, 404);
    let head = send(&provider, "HEAD", "/", "", "");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn a_hanging_answer_ends_with_the_provider() {
    let provider = Provider::start();
    let mut client = TcpStream::connect(("127.0.0.1", provider.port())).expect("the provider listens");
    let body = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "#hang"}]})
        .to_string();
    let text = format!("POST /v1/messages HTTP/1.1\r\ncontent-length: {}\r\n{KEYED}\r\n{body}", body.len());
    client.write_all(text.as_bytes()).expect("it reads");
    provider.wait_for("the request", Request::is_message);
    drop(provider);
    assert_eq!(client.read(&mut [0]).unwrap_or(0), 0, "the connection is closed without a byte");
}
