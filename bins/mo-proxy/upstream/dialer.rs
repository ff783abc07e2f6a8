//! Makes connections: names, addresses, proxies, TLS, each with its deadline.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use shared::env::Env;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::failure::Failure;
use super::origin::Origin;
use super::trust;
use super::tunnel::Proxies;
use crate::config::{Config, Timeouts};
use crate::wire::line::Line;
use crate::wire::stream::Stream;

/// How long one address may take.
const ONE_ADDRESS: Duration = Duration::from_secs(5);

/// Makes connections.
#[derive(Debug)]
pub struct Dialer {
    proxies: Proxies,
    of_environment: Option<PathBuf>,
    settings: RwLock<Settings>,
    /// The client's side of TLS, and the files of roots that it was made of.
    tls: Mutex<Option<(Vec<PathBuf>, Arc<ClientConfig>)>>,
}

/// What the configuration says of connections.
#[derive(Clone, Debug)]
struct Settings {
    patience: Duration,
    roots: Option<PathBuf>,
}

impl Dialer {
    /// A dialer for this environment.
    pub fn new(env: &Env) -> Self {
        let settings = Settings { patience: Timeouts::default().connect, roots: None };
        Self {
            proxies: Proxies::of(env),
            of_environment: env.text("NODE_EXTRA_CA_CERTS").map(PathBuf::from),
            settings: RwLock::new(settings),
            tls: Mutex::default(),
        }
    }

    /// Takes over what the configuration says.
    pub fn settle(&self, config: &Config) {
        let settings = Settings { patience: config.timeouts.connect, roots: config.ca_file.clone() };
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    fn settings(&self) -> Settings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A new connection to this place.
    pub async fn dial(&self, origin: &Origin) -> Result<Line, Failure> {
        match timeout(self.settings().patience, self.connect(origin)).await {
            Ok(connected) => connected.map(Line::new).map_err(Failure::connect),
            Err(_) => Err(Failure::connect(format!("{} does not answer", origin.address()))),
        }
    }

    async fn connect(&self, origin: &Origin) -> Result<Stream, String> {
        let stream = match self.proxies.to(origin) {
            Some(proxy) => {
                let mut stream = first(&proxy.address).await?;
                proxy.tunnel(&mut stream, origin).await?;
                stream
            }
            None => first(&origin.address()).await?,
        };
        if !origin.https {
            return Ok(Stream::Tcp(stream));
        }
        let name = ServerName::try_from(origin.host.clone())
            .map_err(|_| format!("{} is no name for a certificate", origin.host))?;
        let connector = TlsConnector::from(self.tls().await?);
        let stream = connector
            .connect(name, stream)
            .await
            .map_err(|error| format!("no trusted connection to {}: {error}", origin.address()))?;
        Ok(Stream::Tls(Box::new(stream)))
    }

    /// Roots are read once, beside the event loop, and anew where the configuration names others.
    async fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        let files: Vec<PathBuf> = self.of_environment.iter().cloned().chain(self.settings().roots).collect();
        let mut tls = self.tls.lock().await;
        if let Some((of, config)) = tls.as_ref()
            && *of == files
        {
            return Ok(Arc::clone(config));
        }
        let of = files.clone();
        let read = tokio::task::spawn_blocking(move || trust::config(&of)).await;
        let config = read.map_err(|error| error.to_string())??;
        *tls = Some((files, Arc::clone(&config)));
        Ok(config)
    }
}

/// The first address of a name that answers.
async fn first(address: &str) -> Result<TcpStream, String> {
    let failed = |error: std::io::Error| format!("cannot connect to {address}: {error}");
    let mut trouble = format!("{address} has no address");
    for candidate in tokio::net::lookup_host(address).await.map_err(failed)? {
        match timeout(ONE_ADDRESS, TcpStream::connect(candidate)).await {
            Ok(Ok(stream)) => {
                // A small write must not wait for the answer to the one before it.
                stream.set_nodelay(true).map_err(failed)?;
                return Ok(stream);
            }
            Ok(Err(error)) => trouble = failed(error),
            Err(_) => trouble = format!("{candidate} does not answer"),
        }
    }
    Err(trouble)
}
