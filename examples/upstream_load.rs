//! A load for the bench of the gateway: the same requests directly to the upstream and through each gateway, in
//! turn, in one run. Usage: `upstream_load NAME=ADDRESS[@PID] …`; the first is the direct way. And how long a
//! gateway takes to start: `upstream_load --start PROGRAM PORT FOLDER UPSTREAM`; and whether it grows:
//! `upstream_load --soak NAME=ADDRESS@PID REQUESTS`.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// How long one measurement lasts.
const SECONDS: f64 = 2.0;
const ROUNDS: usize = 3;

struct Target {
    name: String,
    address: String,
    pid: Option<u32>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, program, port, folder, upstream] = words.as_slice()
        && first == "--start"
    {
        return Ok(starts(program, port, folder, upstream)?);
    }
    if let [first, word, requests] = words.as_slice()
        && first == "--soak"
    {
        let target = target(word).ok_or("NAME=ADDRESS@PID is what can be soaked")?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        return Ok(runtime.block_on(soak(target, requests.parse()?))?);
    }
    let targets: Vec<Target> = std::env::args().skip(1).filter_map(|word| target(&word)).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut table = String::new();
    for target in &targets {
        let _ = writeln!(table, "{:10} resident {:.1} MiB when idle", target.name, resident(target));
    }
    for (label, size) in [("0.1 KB", 100), ("50 KB", 50 << 10), ("600 KB", 600 << 10)] {
        let request = request("", size);
        for target in &targets {
            alone(target, &request, 0.3)?;
        }
        for target in &targets {
            let mut times = Vec::new();
            let (before, start) = (cpu(target), Instant::now());
            for _ in 0..ROUNDS {
                times.extend(alone(target, &request, SECONDS / 2.0)?);
            }
            let cpu = (cpu(target) - before) * 1000.0 / times.len() as f64;
            let (p50, p99) = (percentile(&mut times, 0.5), percentile(&mut times, 0.99));
            let _ = writeln!(
                table,
                "{:10} {label:6} c1   p50 {p50:8.3} ms  p99 {p99:8.3} ms  cpu {cpu:.3} ms a request  ({:.0}/s)",
                target.name,
                times.len() as f64 / start.elapsed().as_secs_f64()
            );
        }
        for target in &targets {
            let (before, start) = (cpu(target), Instant::now());
            let mut times = runtime.block_on(crowd(target, &request, 32))?;
            let seconds = start.elapsed().as_secs_f64();
            let count = times.len() as f64;
            let cpu = (cpu(target) - before) * 1000.0 / count;
            let (p50, p99) = (percentile(&mut times, 0.5), percentile(&mut times, 0.99));
            let _ = writeln!(
                table,
                "{:10} {label:6} c32  p50 {p50:8.3} ms  p99 {p99:8.3} ms  cpu {cpu:.3} ms a request  ({:.0}/s)  resident {:.1} MiB",
                target.name,
                count / seconds,
                resident(target)
            );
        }
    }
    let burst = request("?burst", 50 << 10);
    for target in &targets {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            times.extend(alone(target, &burst, SECONDS / 2.0)?);
        }
        let (p50, p99) = (percentile(&mut times, 0.5), percentile(&mut times, 0.99));
        let _ = writeln!(
            table,
            "{:10} burst of 100 events, whole   p50 {p50:8.3} ms  p99 {p99:8.3} ms",
            target.name
        );
    }
    let slow = request("?slow", 50 << 10);
    for target in &targets {
        let (mut times, peak) = runtime.block_on(streams(target, &slow, 200))?;
        let (p50, p99) = (percentile(&mut times, 0.5), percentile(&mut times, 0.99));
        let _ = writeln!(
            table,
            "{:10} 200 slow streams, first byte p50 {p50:8.3} ms  p99 {p99:8.3} ms  resident {peak:.1} MiB",
            target.name
        );
    }
    Ok(say(&table)?)
}

/// From the start of the program to its first answer, ten times.
fn starts(program: &str, port: &str, folder: &str, upstream: &str) -> std::io::Result<()> {
    let mut times = Vec::new();
    for _ in 0..10 {
        let start = Instant::now();
        let mut child = std::process::Command::new(program)
            .args(["serve", "--port", port])
            .env_clear()
            .env("CLAUDE_WORKERS_ROOT", folder)
            .env("MODEL_ORCHESTRATION_ANTHROPIC", upstream)
            .stderr(std::process::Stdio::null())
            .spawn()?;
        let mut stream = loop {
            match TcpStream::connect(format!("127.0.0.1:{port}")) {
                Ok(stream) => break stream,
                Err(_) if start.elapsed() < Duration::from_secs(5) => {}
                Err(error) => return Err(error),
            }
        };
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut answer = [0; 1024];
        let count = stream.read(&mut answer)?;
        times.push(start.elapsed().as_secs_f64() * 1000.0);
        if !answer.get(..count).unwrap_or_default().starts_with(b"HTTP/1.1 200") {
            return Err(std::io::Error::other("it was not ready"));
        }
        child.kill()?;
        child.wait()?;
    }
    let text = format!("mo-proxy   from start to its first answer: {:.1} ms\n", percentile(&mut times, 0.5));
    say(&text)
}

fn target(word: &str) -> Option<Target> {
    let (name, rest) = word.split_once('=')?;
    let (address, pid) =
        rest.split_once('@').map_or((rest, None), |(address, pid)| (address, pid.parse().ok()));
    Some(Target { name: name.to_owned(), address: address.to_owned(), pid })
}

fn request(query: &str, size: usize) -> Vec<u8> {
    let start = r#"{"model":"claude-bench","max_tokens":32000,"messages":[{"role":"user","content":""#;
    let end = r#""}],"stream":true}"#;
    let text = "some words of a long prompt ".repeat(size / 28 + 1);
    let text = text.get(..size.saturating_sub(start.len() + end.len())).unwrap_or_default();
    let body = format!("{start}{text}{end}");
    let mut head = format!("POST /v1/messages{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    for (name, value) in [
        ("Accept", "application/json"),
        ("Authorization", "Bearer sk-ant-oat01-bench"),
        ("Content-Type", "application/json"),
        ("User-Agent", "claude-cli/2.1.332 (external, cli)"),
        ("X-Claude-Code-Session-Id", "00000000-0000-4000-8000-000000000000"),
        ("X-Stainless-Arch", "x64"),
        ("X-Stainless-Lang", "js"),
        ("X-Stainless-OS", "Linux"),
        ("X-Stainless-Package-Version", "0.74.0"),
        ("X-Stainless-Retry-Count", "0"),
        ("X-Stainless-Runtime", "node"),
        ("X-Stainless-Timeout", "600"),
        ("anthropic-beta", "claude-code-20250219,oauth-2025-04-20,interleaved-thinking-2025-05-14"),
        ("anthropic-version", "2023-06-01"),
        ("x-app", "cli"),
        ("Connection", "keep-alive"),
        ("accept-encoding", "gzip, deflate, br, zstd"),
    ] {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let _ = write!(head, "Content-Length: {}\r\n\r\n", body.len());
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// Whether an answer has been read whole.
fn is_whole(answer: &[u8]) -> bool {
    let Some(head) = memchr::memmem::find(answer, b"\r\n\r\n") else { return false };
    let text = String::from_utf8_lossy(answer.get(..head).unwrap_or_default()).to_ascii_lowercase();
    match text.split("content-length:").nth(1).and_then(|rest| rest.lines().next()) {
        Some(length) => answer.len() >= head + 4 + length.trim().parse().unwrap_or(0),
        None => answer.ends_with(b"0\r\n\r\n"),
    }
}

/// One connection, one request after the other: milliseconds of each.
fn alone(target: &Target, request: &[u8], seconds: f64) -> std::io::Result<Vec<f64>> {
    let mut stream = TcpStream::connect(&target.address)?;
    stream.set_nodelay(true)?;
    let (start, mut times, mut answer) = (Instant::now(), Vec::new(), Vec::new());
    let mut buffer = vec![0; 64 << 10];
    while start.elapsed().as_secs_f64() < seconds {
        let sent = Instant::now();
        stream.write_all(request)?;
        answer.clear();
        while !is_whole(&answer) {
            let count = stream.read(&mut buffer)?;
            if count == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            answer.extend_from_slice(buffer.get(..count).unwrap_or_default());
        }
        times.push(sent.elapsed().as_secs_f64() * 1000.0);
    }
    if !answer.starts_with(b"HTTP/1.1 200") {
        return Err(std::io::Error::other(String::from_utf8_lossy(&answer).into_owned()));
    }
    Ok(times)
}

/// Many connections at once: milliseconds of each request.
async fn crowd(target: &Target, request: &[u8], connections: usize) -> std::io::Result<Vec<f64>> {
    let mut tasks = Vec::new();
    for _ in 0..connections {
        let (address, request) = (target.address.clone(), request.to_vec());
        tasks.push(tokio::spawn(async move {
            let mut stream = tokio::net::TcpStream::connect(&address).await?;
            stream.set_nodelay(true)?;
            let (start, mut times, mut answer) = (Instant::now(), Vec::new(), Vec::with_capacity(4096));
            while start.elapsed().as_secs_f64() < SECONDS {
                let sent = Instant::now();
                stream.write_all(&request).await?;
                answer.clear();
                while !is_whole(&answer) {
                    if stream.read_buf(&mut answer).await? == 0 {
                        return Err(std::io::ErrorKind::UnexpectedEof.into());
                    }
                }
                times.push(sent.elapsed().as_secs_f64() * 1000.0);
            }
            std::io::Result::Ok(times)
        }));
    }
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.map_err(std::io::Error::other)??);
    }
    Ok(all)
}

/// Traffic of every kind until so many requests are answered, told in ten steps: from the second step on, neither
/// memory nor descriptors may grow.
async fn soak(target: Target, requests: usize) -> std::io::Result<()> {
    let done = Arc::new(AtomicUsize::new(0));
    let kinds = Arc::new((request("", 100), request("", 50 << 10), request("?burst", 50 << 10)));
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (address, done, kinds) = (target.address.clone(), Arc::clone(&done), Arc::clone(&kinds));
        clients.spawn(async move {
            loop {
                let mut stream = tokio::net::TcpStream::connect(&address).await?;
                stream.set_nodelay(true)?;
                for _ in 0..500 {
                    let number = done.fetch_add(1, Ordering::Relaxed);
                    if number >= requests {
                        return std::io::Result::Ok(());
                    }
                    let request = match number % 20 {
                        0 => &kinds.2,
                        1..=4 => &kinds.1,
                        _ => &kinds.0,
                    };
                    stream.write_all(request).await?;
                    if number % 997 == 0 {
                        // Leaves without listening.
                        break;
                    }
                    let mut answer = Vec::with_capacity(4096);
                    while !is_whole(&answer) {
                        if stream.read_buf(&mut answer).await? == 0 {
                            return Err(std::io::ErrorKind::UnexpectedEof.into());
                        }
                    }
                }
            }
        });
    }
    let (begin, mut held) = (Instant::now(), Vec::new());
    for step in 1..=10 {
        while done.load(Ordering::Relaxed) < requests / 10 * step {
            if let Some(Ok(Err(error))) = clients.try_join_next() {
                return Err(error);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let (memory, files) = (resident(&target), files(&target));
        say(&format!(
            "{:>9} requests  {:6.0} s  {memory:6.1} MiB  {files} descriptors\n",
            requests / 10 * step,
            begin.elapsed().as_secs_f64()
        ))?;
        held.push((memory, files));
    }
    let (Some((memory, files)), Some((last, open))) = (held.get(1), held.last()) else { return Ok(()) };
    if last - memory > 8.0 || *open > files + 16 {
        return Err(std::io::Error::other("it grew"));
    }
    Ok(())
}

fn say(text: &str) -> std::io::Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes())
}

fn files(target: &Target) -> usize {
    let count = |pid: u32| std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    processes(target).into_iter().map(count).sum()
}

/// Many slow streams at once: milliseconds to each first event, and the most memory meanwhile.
async fn streams(target: &Target, request: &[u8], many: usize) -> std::io::Result<(Vec<f64>, f64)> {
    let mut tasks = Vec::new();
    for number in 0..many {
        let (address, request) = (target.address.clone(), request.to_vec());
        tasks.push(tokio::spawn(async move {
            let mut times = Vec::new();
            tokio::time::sleep(Duration::from_millis(number as u64 * 5)).await;
            let mut stream = tokio::net::TcpStream::connect(&address).await?;
            stream.set_nodelay(true)?;
            for _ in 0..3 {
                let sent = Instant::now();
                stream.write_all(&request).await?;
                let mut answer = Vec::with_capacity(16 << 10);
                while !is_whole(&answer) {
                    if stream.read_buf(&mut answer).await? == 0 {
                        return Err(std::io::ErrorKind::UnexpectedEof.into());
                    }
                    if times.last().is_none_or(|(of, _)| *of != sent) {
                        times.push((sent, sent.elapsed().as_secs_f64() * 1000.0));
                    }
                }
            }
            std::io::Result::Ok(times.into_iter().map(|(_, time)| time).collect::<Vec<f64>>())
        }));
    }
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let peak = resident(target);
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.map_err(std::io::Error::other)??);
    }
    Ok((all, peak))
}

fn percentile(times: &mut [f64], part: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    let at = ((times.len() as f64 - 1.0) * part).round() as usize;
    times.get(at).copied().unwrap_or(f64::NAN)
}

/// The process and its children, as nginx has them.
fn processes(target: &Target) -> Vec<u32> {
    let Some(pid) = target.pid else { return Vec::new() };
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|child| child.parse().ok()).chain([pid]).collect()
}

/// Seconds of CPU that the target has used.
fn cpu(target: &Target) -> f64 {
    let ticks = |pid: u32| -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split_whitespace().skip(11);
        let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(user + system)
    };
    processes(target).into_iter().filter_map(ticks).sum::<f64>() / 100.0
}

/// MiB of memory that the target holds.
fn resident(target: &Target) -> f64 {
    let kib = |pid: u32| -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    processes(target).into_iter().filter_map(kib).sum::<f64>() / 1024.0
}
