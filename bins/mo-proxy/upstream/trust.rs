//! Whom we believe to be who they say: the system's roots, and those that Claude Code is told to add.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// The client's side of TLS. `extra` are PEM files of more roots.
///
/// It takes some milliseconds to read a system's roots, so this is done when the first connection needs it.
pub fn config(extra: &[PathBuf]) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    let mut trouble: Vec<String> = native.errors.iter().map(ToString::to_string).collect();
    roots.add_parsable_certificates(native.certs);
    for path in extra {
        match CertificateDer::pem_file_iter(path) {
            Ok(certificates) => {
                roots.add_parsable_certificates(certificates.filter_map(Result::ok));
            }
            Err(error) => trouble.push(format!("{}: {error}", path.display())),
        }
    }
    if roots.is_empty() {
        return Err(format!("no root certificates were found: {}", trouble.join(", ")));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    // HTTP/1.1 on purpose: over one HTTP/2 connection many large uploads wait for each other, and the case of
    // the client's fields would be lost.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
