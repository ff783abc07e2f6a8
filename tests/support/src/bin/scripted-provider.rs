//! The scripted provider as a program, for the demo and the benches: prints its address as one JSON line, serves
//! until its standard input ends or it is terminated.

use std::error::Error;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::sync::Mutex;

use serde_json::json;
use support::provider::{Provider, Request, Served};

const USAGE: &str = "usage: scripted-provider [--log FILE] [--bodies] [--key KEY]… [--model MODEL]… \
                     [--base-path PATH] [--ollama VERSION] [--gzip] [--no-request-ids]";

fn main() -> Result<(), Box<dyn Error>> {
    let (mut keys, mut models, mut log, mut bodies, mut ollama) = (vec![], vec![], None, false, None);
    let mut setup = Provider::setup();
    let mut args = arguments();
    while let Some(flag) = args.next() {
        let mut value = || args.next().and_then(|value| value.into_string().ok()).ok_or(USAGE);
        match flag.to_str() {
            Some("--log") => log = Some(OpenOptions::new().create(true).append(true).open(value()?)?),
            Some("--bodies") => bodies = true,
            Some("--key") => keys.push(value()?),
            Some("--model") => models.push(value()?),
            Some("--base-path") => setup = setup.base_path(&value()?),
            Some("--ollama") => ollama = Some(value()?),
            Some("--gzip") => setup = setup.gzip(),
            Some("--no-request-ids") => setup = setup.without_request_ids(),
            _ => return Err(USAGE.into()),
        }
    }
    setup = match ollama {
        Some(version) => setup.ollama(&version, models),
        None => setup.models(models),
    };
    let provider = setup.keys(keys).start();
    if let Some(log) = log {
        let log = Mutex::new(log);
        provider.observe(move |request, served| note(&log, request, served, bodies));
    }
    writeln!(std::io::stdout(), "{}", json!({"address": provider.url(), "port": provider.port()}))?;
    std::io::stdin().lock().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1)
}

/// One line a request. Of a key only the end is kept, as everywhere.
fn note(log: &Mutex<File>, request: &Request, served: Option<&Served>, bodies: bool) {
    let end = request.key.as_deref().map(|key| key.chars().rev().take(4).collect::<Vec<_>>());
    let end: Option<String> = end.map(|letters| letters.into_iter().rev().collect());
    let mut line = json!({
        "at_ms": u64::try_from(request.at.as_millis()).unwrap_or(u64::MAX),
        "method": request.method, "path": request.path, "status": request.status, "model": request.model,
        "session": request.session, "agent": request.agent, "key_end": end, "served": served,
    });
    if bodies {
        line["body"] = request.body.clone();
    }
    if let Ok(mut log) = log.lock() {
        let _ = log.write_all(format!("{line}\n").as_bytes());
    }
}
