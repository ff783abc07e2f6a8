//! How it starts: one instance, a free place, small calls answered at once.

use support::World;

use crate::client::request;
use crate::gateway::{Gateway, PROGRAM};
use crate::upstream::{Upstream, json};

#[test]
fn a_port_that_is_taken_is_an_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let world = World::new();
    world.command(PROGRAM).args(["serve", "--port", &port]).run().code(74).stderr_has("--port");
    assert!(!world.root().join(".proxy/instance.json").exists());
}

#[test]
fn a_second_instance_is_refused_and_the_first_stays() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    gateway.world.command(PROGRAM).args(["serve", "--port", "0"]).run().code(75);
    assert_eq!(gateway.get("/health").status, 200);
}

#[test]
fn the_token_outlives_an_instance() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let Gateway { world, process, token, .. } = Gateway::before(&upstream);
    process.signal(15);
    process.wait().ok();
    assert_eq!(Gateway::start(world).token, token);
}

#[test]
fn the_small_calls_of_a_starting_client_are_answered_here() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    let mut client = gateway.client();
    assert_eq!(client.send(&request("HEAD", "/", "", "")).head().status, 200);
    assert_eq!(gateway.get("/api/hello").status, 200);
    for path in ["/health", "/livez"] {
        assert_eq!(gateway.get(path).json()["status"], "ok");
    }
    assert_eq!(gateway.get("/readyz").json()["status"], "ready");
    assert_eq!(gateway.get("/mo/other").error(), "not_found_error");
    assert!(upstream.seen().is_empty());
}

#[test]
fn a_socket_is_for_its_owner_alone_and_goes_with_the_instance() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let mut world = World::new();
    world.var("MODEL_ORCHESTRATION_ANTHROPIC", upstream.url());
    let path = world.path("gateway.sock");
    let process = world.command(PROGRAM).args(["serve", "--socket"]).arg(&path).spawn();
    let mut stream = support::wait_for("the socket", || std::os::unix::net::UnixStream::connect(&path).ok());
    assert_eq!(world.mode("gateway.sock"), 0o600);
    std::io::Write::write_all(&mut stream, &request("GET", "/health", "connection: close\r\n", "")).unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\"ok\""), "{answer}");
    process.signal(15);
    process.wait().ok();
    assert!(!path.exists());
    world.write("file", "kept");
    world.command(PROGRAM).args(["serve", "--socket"]).arg(world.path("file")).run().code(74);
    assert_eq!(world.read("file"), "kept");
}
