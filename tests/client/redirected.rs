//! A provider that redirects, and the real Claude Code, which follows redirects with everything it has: through the
//! gateway nothing of it comes to the place that the provider names.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crate::stage::Stage;

/// Listens, answers each connection with this, and hands on what came on it first.
fn answering(answer: String) -> (String, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (tell, told) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut came = vec![0; 64 << 10];
            let count = stream.read(&mut came).unwrap_or(0);
            came.truncate(count);
            let _ = stream.write_all(answer.as_bytes());
            let _ = stream.shutdown(std::net::Shutdown::Write);
            // To the end, so that the answer is read before the connection is reset.
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
            if tell.send(came).is_err() {
                return;
            }
        }
    });
    (address, told)
}

#[test]
fn a_provider_that_redirects_gets_the_client_to_take_nothing_elsewhere() {
    let (elsewhere, stolen) =
        answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}".to_owned());
    let (glm, asked) = answering(format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{elsewhere}/stolen\r\ncontent-length: 0\r\n\
         connection: close\r\n\r\n"
    ));
    let mut stage = Stage::new();
    stage.world.var("MODEL_ORCHESTRATION_ANTHROPIC", stage.manager.url());
    stage.worker_at("glm", &format!("http://{glm}"), "0123456789abcdef.glm_KEY");
    stage.world.write(".claude-workers/.proxy/config.json", "{\"listen\": \"127.0.0.1:0\"}");
    let program = env!("CARGO_BIN_EXE_mo-proxy");
    let output = stage
        .world
        .command(program)
        .args(["exec", "--keep-key", "--", "claude", "-p", "hello", "--model", "glm,glm-5"])
        .var("ANTHROPIC_API_KEY", "sk-ant-api03-a-key-of-anthropics")
        .var("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .var("CLAUDE_CODE_MAX_RETRIES", "0")
        .run()
        .fails();
    stage.world.command(program).args(["stop", "--now"]).run().ok();
    assert!(asked.try_recv().is_ok(), "the provider was not asked: {}", output.text());
    let stolen: Vec<String> =
        stolen.try_iter().map(|came| String::from_utf8_lossy(&came).into_owned()).collect();
    assert!(stolen.is_empty(), "{stolen:#?}");
    let said = output.text() + &output.errors();
    assert!(said.contains("redirects") && said.contains(&elsewhere), "{said}");
}
