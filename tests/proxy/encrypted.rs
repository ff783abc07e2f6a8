//! The way to Anthropic as it is in life: TLS, its real name, a company's proxy, an authority of one's own.

use std::path::Path;

use support::World;

use crate::client::messages;
use crate::gateway::Gateway;
use crate::tls::Authority;
use crate::tunnel::Tunnel;
use crate::upstream::{Then, Upstream, json};

const NAME: &str = "api.anthropic.com";
const BODY: &str = "{\"model\":\"claude-x\"}";

fn anthropic(authority: &Authority, protocols: &[&str]) -> Upstream {
    Upstream::start_behind(
        |_, wire| {
            wire.write_all(&json("200 OK", "request-id: req_tls\r\n", "{}"))?;
            Ok(Then::Keep)
        },
        authority.wrap(NAME, protocols),
    )
}

fn world(tunnel: &Tunnel, authority: &Authority, variable: &str) -> World {
    let mut world = World::new();
    let file = authority.file(&world);
    world.var(variable, file);
    world.var("HTTPS_PROXY", format!("http://user:pass@127.0.0.1:{}", tunnel.port));
    world
}

#[test]
fn the_login_goes_to_anthropics_own_name_through_the_proxy_of_the_environment() {
    for variable in ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"] {
        let authority = Authority::new();
        let upstream = anthropic(&authority, &["h2", "http/1.1"]);
        let tunnel = Tunnel::to(&[("api.anthropic.com:443", upstream.port)]);
        let gateway = Gateway::start(world(&tunnel, &authority, variable));
        let mut client = gateway.client();
        for _ in 0..3 {
            let answer = client.ask(&messages(BODY));
            assert_eq!((answer.status, answer.field("request-id")), (200, Some("req_tls")), "{answer:?}");
        }
        for seen in upstream.seen() {
            assert_eq!(seen.field("host"), Some(NAME));
            assert_eq!(seen.field("authorization"), Some("Bearer sk-ant-oat01-the-login"));
        }
        // One connection for all, through one tunnel, and the proxy never saw the login.
        let wishes = tunnel.wishes();
        assert_eq!(wishes.len(), upstream.connections());
        assert!(wishes[0].starts_with("CONNECT api.anthropic.com:443 HTTP/1.1\r\n"), "{wishes:?}");
        assert!(wishes[0].contains("Proxy-Authorization: Basic dXNlcjpwYXNz\r\n"));
        assert!(!wishes.concat().contains("the-login"));
    }
}

#[test]
fn who_cannot_prove_to_be_anthropic_gets_no_login() {
    let (trusted, stranger) = (Authority::new(), Authority::new());
    let wrong_name = Upstream::start_behind(|_, _| Ok(Then::Close), trusted.wrap("evil.example", &[]));
    for upstream in [anthropic(&stranger, &[]), wrong_name] {
        let tunnel = Tunnel::to(&[("api.anthropic.com:443", upstream.port)]);
        let gateway = Gateway::start(world(&tunnel, &trusted, "SSL_CERT_FILE"));
        let answer = gateway.ask(&messages(BODY));
        assert_eq!((answer.status, answer.error().as_str()), (502, "api_error"));
        assert!(answer.text().contains("no trusted connection"), "{}", answer.text());
        assert!(upstream.seen().is_empty());
    }
}

#[test]
fn a_proxy_that_refuses_is_told_as_such() {
    let authority = Authority::new();
    let tunnel = Tunnel::to(&[]);
    let gateway = Gateway::start(world(&tunnel, &authority, "SSL_CERT_FILE"));
    let answer = gateway.ask(&messages(BODY));
    assert_eq!(answer.status, 502);
    assert!(
        answer.text().contains("refused with 403") && !answer.text().contains("pass"),
        "{}",
        answer.text()
    );
}

#[test]
fn no_stand_in_for_anthropic_can_be_on_another_machine() {
    for url in ["https://evil.example", "http://api.anthropic.com", "http://10.0.0.1:80", "https://api.z.ai"]
    {
        let mut world = World::new();
        world.var("MODEL_ORCHESTRATION_ANTHROPIC", url);
        let output = world.command(Path::new(crate::gateway::PROGRAM)).args(["serve", "--port", "0"]).run();
        output.code(78).stderr_has("must not get the login");
    }
}

#[test]
fn an_authority_can_be_named_in_the_configuration_too() {
    let authority = Authority::new();
    let upstream = anthropic(&authority, &["http/1.1"]);
    let tunnel = Tunnel::to(&[("api.anthropic.com:443", upstream.port)]);
    let mut world = World::new();
    let file = authority.file(&world);
    world.var("HTTPS_PROXY", format!("http://127.0.0.1:{}", tunnel.port));
    let config = format!("{{\"ca_file\": \"{}\"}}", file.display());
    world.write(".claude-workers/.proxy/config.json", config);
    assert_eq!(Gateway::start(world).ask(&messages(BODY)).status, 200);
}
