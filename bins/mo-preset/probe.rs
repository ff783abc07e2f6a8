//! `mo-preset probe`: asks an endpoint for a message without a key, and tells what its answer means.
//! The only place of the small programs that speaks to the network.

use std::net::ToSocketAddrs;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use shared::args::Matches;
use shared::base_url::BaseUrl;
use shared::catalogue::{Catalogue, VERSION};
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::world::World;
use ureq::http::Response;
use ureq::{Agent, Body, Proxy};

use crate::ollama::{self, Ollama};
use crate::show;
use crate::verdict::{Answer, Verdict, judge, judge_failure};

/// How long a probe may take unless `--timeout` says otherwise, in seconds.
const PATIENCE: f64 = 10.0;
/// More than any answer needs to be recognised by.
const BODY_CAP: u64 = 1 << 20;
/// Where Ollama listens by default.
const OLLAMA_PORT: u16 = 11434;
/// A request that no server can serve: nothing is generated, and nothing is billed.
const EMPTY_REQUEST: &str = r#"{"model":"","max_tokens":1,"messages":[]}"#;

/// Probes, prints, and ends with the code of the verdict.
pub fn run(world: &World, catalogue: &Catalogue, trouble: Option<&Error>, matches: &Matches) -> Result<Exit> {
    let url = url(world, catalogue, trouble, matches.operand(0)?)?;
    let limit = matches.value("timeout").map_or(Ok(Duration::from_secs_f64(PATIENCE)), seconds)?;
    let start = Instant::now();
    let mut probe = Probe { deadline: start + limit, url: &url, ollama: None, status: None };
    let verdict = probe.ask();
    let (ollama, status) = (probe.ollama, probe.status);
    let ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    if matches.has("json") {
        let document = json!({
            "version": VERSION,
            "url": url,
            "verdict": verdict.word(),
            "speaks_messages": matches!(verdict, Verdict::Speaks { .. }),
            "wants_key": matches!(verdict, Verdict::Speaks { wants_key: true, .. }),
            "words": verdict.words(),
            "status": status,
            "exit_code": verdict.exit().code(),
            "ms": ms,
            "ollama": ollama,
        });
        world.say.line(&format!("{document:#}"))?;
        return Ok(verdict.exit());
    }
    if verdict.exit() != Exit::Done {
        let error = Error::new(verdict.exit(), format!("{url} {}", verdict.words()));
        return Err(verdict.hint().map_or(error.clone(), |hint| error.hint(hint)));
    }
    world.say.line(&format!("{url} {} ({ms} ms)", verdict.words()))?;
    for line in ollama.iter().flat_map(Ollama::lines) {
        world.say.line(&line)?;
    }
    Ok(Exit::Done)
}

/// The URL of a preset, or the one that was typed.
fn url(world: &World, catalogue: &Catalogue, trouble: Option<&Error>, typed: &str) -> Result<BaseUrl> {
    if !typed.contains([':', '/', '.']) {
        return show::found(world, catalogue, trouble, typed).map(|preset| preset.base_url.clone());
    }
    let parsed = BaseUrl::parse(typed)?;
    if let Some(remark) = parsed.remark() {
        world.say.note(&remark);
    }
    Ok(parsed.url)
}

fn seconds(typed: &str) -> Result<Duration> {
    let number = typed.parse().ok().filter(|number| (0.1..=600.0).contains(number));
    number.map(Duration::from_secs_f64).ok_or_else(|| {
        Error::new(
            Exit::Usage,
            format!("--timeout `{}` is no number of seconds", shared::redact::typed(typed)),
        )
        .hint("give a number from 0.1 to 600")
    })
}

struct Probe<'a> {
    deadline: Instant,
    url: &'a BaseUrl,
    ollama: Option<Ollama>,
    status: Option<u16>,
}

impl Probe<'_> {
    fn ask(&mut self) -> Verdict {
        // A proxy resolves names itself, and leads to other machines only.
        let proxy = if self.url.is_loopback() { None } else { Proxy::try_from_env() };
        if proxy.is_none()
            && let Err(verdict) = self.resolve()
        {
            return verdict;
        }
        let agent = agent(proxy);
        if self.url.is_loopback() || self.url.port() == Some(OLLAMA_PORT) {
            match self.ask_ollama(&agent) {
                Ok(ollama) => self.ollama = ollama,
                Err(verdict) => return verdict,
            }
            if let Some(old) = self.ollama.as_ref().filter(|ollama| ollama.is_too_old()) {
                return Verdict::OldOllama(old.version.clone());
            }
        }
        let answer = agent
            .post(self.url.endpoint("/v1/messages"))
            .header("content-type", "application/json")
            .header("anthropic-version", "2023-06-01")
            .config()
            .timeout_global(Some(self.left()))
            .build()
            .send(EMPTY_REQUEST);
        match self.read(answer) {
            Ok(answer) => {
                self.status = Some(answer.status);
                judge(&answer)
            }
            Err(verdict) => verdict,
        }
    }

    /// What Ollama is there, if it is one.
    fn ask_ollama(&self, agent: &Agent) -> Result<Option<Ollama>, Verdict> {
        let get = |path: &str| {
            let request = agent.get(self.url.endpoint(path));
            self.read(request.config().timeout_global(Some(self.left())).build().call())
        };
        let answer = match get("/api/version") {
            // A server that hangs up on a path it does not know is no Ollama, but may still speak the API.
            Err(Verdict::OtherApi(_)) => return Ok(None),
            answer => answer?,
        };
        let Some(version) = ollama::version(&answer.body).filter(|_| answer.status == 200) else {
            return Ok(None);
        };
        let models = get("/api/tags").map(|answer| ollama::models(&answer.body)).unwrap_or_default();
        Ok(Some(Ollama { version, models }))
    }

    fn read(&self, answer: Result<Response<Body>, ureq::Error>) -> Result<Answer, Verdict> {
        let failed = |error: &ureq::Error| judge_failure(error, self.url.is_https());
        let mut response = answer.map_err(|error| failed(&error))?;
        let header = |name: &str| {
            response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let (content_type, location) = (header("content-type").unwrap_or_default(), header("location"));
        let body = response.body_mut().with_config().limit(BODY_CAP).read_to_vec();
        let body = match body {
            Ok(body) => body,
            // So much is no error message: its beginning is not needed to know that.
            Err(ureq::Error::BodyExceedsLimit(_)) => Vec::new(),
            Err(error) => return Err(failed(&error)),
        };
        Ok(Answer { status: response.status().as_u16(), content_type, location, body })
    }

    /// Looks the host's name up, in a thread of its own: the system's resolver has no deadline.
    fn resolve(&self) -> Result<(), Verdict> {
        let host = self.url.host().as_str().trim_matches(['[', ']']).to_owned();
        let (tell, told) = mpsc::sync_channel(1);
        thread::spawn(move || tell.send((host.as_str(), 0).to_socket_addrs().map(|mut found| found.next())));
        resolved(told.recv_timeout(self.left()).ok())
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }
}

/// What the resolver's answer means; none came in time when there is nothing.
fn resolved<T>(answer: Option<std::io::Result<Option<T>>>) -> Result<(), Verdict> {
    match answer {
        Some(Ok(Some(_))) => Ok(()),
        Some(Ok(None)) => Err(Verdict::NoHost("it has no address".to_owned())),
        Some(Err(error)) => {
            let text = error.to_string();
            Err(Verdict::NoHost(flatten(text.rsplit(": ").next().unwrap_or_default(), 160).to_lowercase()))
        }
        None => Err(Verdict::TimedOut),
    }
}

fn agent(proxy: Option<Proxy>) -> Agent {
    Agent::config_builder()
        .proxy(proxy)
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("mo-preset/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_known_is_told_from_a_slow_resolver() {
        let unknown =
            std::io::Error::other("failed to lookup address information: Name or service not known");
        assert_eq!(
            resolved::<()>(Some(Err(unknown))),
            Err(Verdict::NoHost("name or service not known".to_owned()))
        );
        assert_eq!(resolved::<()>(Some(Ok(None))).unwrap_err().exit(), Exit::Config);
        assert_eq!(resolved::<()>(None), Err(Verdict::TimedOut));
        assert_eq!(resolved(Some(Ok(Some(())))), Ok(()));
    }

    #[test]
    fn seconds_may_have_a_fraction_and_a_limit() {
        assert_eq!(seconds("0.5").unwrap(), Duration::from_millis(500));
        for typed in ["", "0", "-1", "601", "NaN", "inf", "ten"] {
            assert_eq!(seconds(typed).unwrap_err().exit(), Exit::Usage, "{typed}");
        }
    }
}
