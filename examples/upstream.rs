//! A compiled upstream for the bench of the gateway: answers every request at once, with a small message or, where
//! the query says so, with a stream. Usage: `upstream [PORT]`; the address is its first line of output.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const MESSAGE: &str = r#"{"id":"msg_01bench","type":"message","role":"assistant","model":"claude-bench","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":12000,"cache_creation_input_tokens":0,"cache_read_input_tokens":9000,"output_tokens":3}}"#;
const EVENTS: usize = 100;
const SLOW_EVENTS: usize = 40;
const SLOW_PAUSE: Duration = Duration::from_millis(20);

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0_u16);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        say(&format!("{}\n", listener.local_addr()?))?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(serve(stream));
        }
    })
}

fn say(text: &str) -> std::io::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

async fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let mut inbox: Vec<u8> = Vec::with_capacity(64 << 10);
    loop {
        let head = loop {
            if let Some(end) = memchr::memmem::find(&inbox, b"\r\n\r\n") {
                break end + 4;
            }
            if stream.read_buf(&mut inbox).await? == 0 {
                return Ok(());
            }
        };
        let text = String::from_utf8_lossy(inbox.get(..head).unwrap_or_default()).to_ascii_lowercase();
        let length = text.split("content-length:").nth(1).and_then(|rest| rest.lines().next());
        let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
        let first = text.lines().next().unwrap_or_default().to_owned();
        while inbox.len() < head + length {
            if stream.read_buf(&mut inbox).await? == 0 {
                return Ok(());
            }
        }
        inbox.drain(..head + length);
        if first.contains("burst") {
            burst(&mut stream).await?;
        } else if first.contains("slow") {
            slow(&mut stream).await?;
        } else {
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nrequest-id: req_bench\r\n\
                 content-length: {}\r\n\r\n{MESSAGE}",
                MESSAGE.len()
            );
            stream.write_all(answer.as_bytes()).await?;
        }
    }
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn start() -> String {
    let start =
        format!("event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{MESSAGE}}}\n\n");
    chunk(&start)
}

fn delta(number: usize) -> String {
    chunk(&format!(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"word {number}\"}}}}\n\n"
    ))
}

fn stop() -> String {
    chunk("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n") + "0\r\n\r\n"
}

fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

/// Each event in a write of its own, as models send them, without a pause.
async fn burst(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(HEAD.as_bytes()).await?;
    stream.write_all(start().as_bytes()).await?;
    for number in 0..EVENTS {
        stream.write_all(delta(number).as_bytes()).await?;
    }
    stream.write_all(stop().as_bytes()).await
}

async fn slow(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all((HEAD.to_owned() + &start()).as_bytes()).await?;
    for number in 0..SLOW_EVENTS {
        tokio::time::sleep(SLOW_PAUSE).await;
        stream.write_all(delta(number).as_bytes()).await?;
    }
    stream.write_all(stop().as_bytes()).await
}
