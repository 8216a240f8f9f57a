//! TLS, built when the first `https` connection asks for it.
//!
//! Roots are the system's; `SSL_CERT_FILE` and `SSL_CERT_DIR` replace them. Reading a system store of 150 certificates takes some
//! milliseconds and a megabyte, which a proxy in front of an `http` upstream never pays.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::{Error, Target};

/// The lazily built TLS side of one client.
#[derive(Default)]
pub(crate) struct Tls {
    config: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl Tls {
    pub(crate) async fn connect<S>(&self, target: &Target, stream: S) -> Result<TlsStream<S>, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let failed = |why: String| Error::Tls { host: target.host_port(), why };
        let config = self.config.get_or_init(build).clone().map_err(failed)?;
        let name = ServerName::try_from(target.host().to_owned())
            .map_err(|_| failed("the host is not a name that a certificate can carry".to_owned()))?;
        TlsConnector::from(config).connect(name, stream).await.map_err(|error| failed(error.to_string()))
    }
}

fn build() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(format!(
            "no root certificates found{why}; install the system's ca-certificates or name a file in SSL_CERT_FILE"
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
