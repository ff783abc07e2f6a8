//! An authority of our own, and upstreams behind its certificates: Anthropic's name, on this machine.

use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use support::World;

use crate::upstream::Wire;

/// The authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// A new one, which nobody trusts yet.
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Its certificate as a file in this world.
    pub fn file(&self, world: &World) -> PathBuf {
        world.write("authority.pem", &self.pem)
    }

    /// Wraps connections in TLS under this name. `protocols` are the ones offered.
    pub fn wrap(
        &self,
        name: &str,
        protocols: &[&str],
    ) -> impl Fn(TcpStream) -> Option<Box<dyn Wire>> + Send + Sync + 'static {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = certificate.signed_by(&key, &self.issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let config = Arc::new(config);
        move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            Some(Box::new(StreamOwned::new(connection, stream)))
        }
    }
}
