//! Another provider: what it needs to see of a request, and its own key. The client's credentials have no way here.

use std::sync::{Arc, Mutex, PoisonError};

use shared::auth::Auth;
use shared::paths::Paths;
use shared::secret::Secret;
use shared::worker::Worker;
use shared::worker_key;

use super::counting::Counting;
use super::dialer::Dialer;
use super::failure::Failure;
use super::origin::Origin;
use super::outgoing::Outgoing;
use super::pool::Pool;
use crate::route::provider::{self, Key};
use crate::wire::field;
use crate::wire::framing::Framing;
use crate::wire::head::Head;

/// The fields of a client that a provider gets to see: no cookie, no login, no beta, nothing that names the machine.
const ALLOWED: [&str; 6] =
    ["accept", "accept-encoding", "accept-language", "anthropic-version", "content-type", "user-agent"];

/// A provider's API.
pub struct Provider {
    pool: Arc<Pool>,
    auth: Auth,
    source: Key,
    paths: Paths,
    betas: Vec<String>,
    key: Mutex<Option<Secret>>,
    counting: Arc<Counting>,
}

impl Provider {
    /// The API of this provider. An earlier one at the same place lends its connections.
    pub fn new(of: &provider::Provider, dialer: &Arc<Dialer>, paths: &Paths, earlier: Option<&Self>) -> Self {
        let origin = Origin::of(&of.base_url);
        let (pool, counting) = match earlier {
            Some(earlier) if *earlier.pool.origin() == origin => {
                (Arc::clone(&earlier.pool), Arc::clone(&earlier.counting))
            }
            _ => (Pool::new(origin, Arc::clone(dialer)), Arc::default()),
        };
        Self {
            pool,
            auth: of.auth,
            source: of.key.clone(),
            paths: paths.clone(),
            betas: of.betas.clone(),
            key: Mutex::default(),
            counting,
        }
    }

    /// Its connections.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Whether it counts tokens.
    pub fn counting(&self) -> &Counting {
        &self.counting
    }

    /// The request as this provider may see it. `plain`: the answer is to come unpacked, so that a sign of life and an
    /// error can be added to it.
    pub async fn outgoing(&self, head: &Head, body: usize, plain: bool) -> Result<Outgoing, Failure> {
        let key = self.key().await?;
        let origin = self.pool.origin();
        let mut out = Vec::with_capacity(1 << 10);
        let method = head.method();
        for part in [method, " ", &origin.prefix, head.target(), " HTTP/1.1\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        field::write(&mut out, b"host", origin.authority.as_bytes());
        if plain {
            field::write(&mut out, b"accept-encoding", b"identity");
        }
        for (name, value, _) in head.fields() {
            if plain && name.eq_ignore_ascii_case(b"accept-encoding") {
                continue;
            }
            if ALLOWED.iter().any(|allowed| name.eq_ignore_ascii_case(allowed.as_bytes())) {
                field::write(&mut out, name, value);
            } else if name.eq_ignore_ascii_case(b"anthropic-beta") {
                self.write_betas(&mut out, name, value);
            }
        }
        if let Some(key) = &key {
            match self.auth {
                Auth::Bearer => {
                    out.extend_from_slice(b"authorization: Bearer ");
                    out.extend_from_slice(key.reveal().as_bytes());
                    out.extend_from_slice(b"\r\n");
                }
                Auth::XApiKey => field::write(&mut out, b"x-api-key", key.reveal().as_bytes()),
            }
        }
        if head.framing() != Framing::None {
            field::write(&mut out, b"content-length", body.to_string().as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        Ok(Outgoing::new(Arc::clone(&self.pool), out, method == "HEAD"))
    }

    /// The betas that it understands.
    fn write_betas(&self, out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        let known = field::words(value).filter(|word| self.betas.iter().any(|beta| beta.as_bytes() == *word));
        let known: Vec<&[u8]> = known.collect();
        if !known.is_empty() {
            field::write(out, name, &known.join(&b","[..]));
        }
    }

    /// Its key, read where it is kept when it is first needed.
    async fn key(&self) -> Result<Option<Secret>, Failure> {
        let worker = match &self.source {
            Key::None => return Ok(None),
            Key::Placeholder(word) => return Ok(Some(Secret::from_file(word))),
            Key::Worker(worker) => worker.clone(),
        };
        if let Some(key) = self.lock().clone() {
            return Ok(Some(key));
        }
        let paths = self.paths.clone();
        // A command may have to be waited for.
        let read = move || worker_key::read(&Worker::load(&paths, &worker)?);
        let read = tokio::task::spawn_blocking(read).await;
        let key = read.map_err(|error| Failure::connect(error.to_string()))?;
        let key = key.map_err(|error| Failure::connect(error.to_string()))?;
        self.lock().clone_from(&key);
        Ok(key)
    }

    /// The provider refused the key: the next request reads it anew.
    pub fn forget_key(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Secret>> {
        self.key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
