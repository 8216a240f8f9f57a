//! TLS against a server with a root of its own. One test, because `SSL_CERT_FILE` is read from the
//! environment: the test runs itself in a process that has the variable.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;

use bir_net::{Error, Proxies};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use support::*;

const CHILD: &str = "BIR_NET_TLS_TEST_PORT";

fn certificates() -> (String, Arc<ServerConfig>) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &root).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    (root.pem(), Arc::new(config))
}

fn serve(stream: impl Read + Write) {
    let mut stream = stream;
    while read_request(&mut stream).is_some() {
        stream.write_all(&ok("", b"secret tea")).unwrap();
    }
}

#[test]
fn a_root_from_the_environment_is_trusted_also_through_a_proxy() {
    if let Ok(port) = std::env::var(CHILD) {
        return ask(port.parse().unwrap());
    }
    let (root, config) = certificates();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), root).unwrap();
    let server = Server::raw(move |_, stream, _| {
        let connection = ServerConnection::new(config.clone()).unwrap();
        serve(StreamOwned::new(connection, stream));
    });
    let run = |with_root: bool| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("--nocapture").env(CHILD, server.port.to_string()).env_remove("SSL_CERT_DIR");
        command.env(
            "SSL_CERT_FILE",
            if with_root { file.path().to_str().unwrap() } else { "/nowhere/roots.pem" },
        );
        command.env("EXPECT_TRUST", if with_root { "1" } else { "0" });
        let output = command.output().unwrap();
        let shown =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && shown.contains("1 passed"), "{shown}");
    };
    run(true);
    run(false);
}

fn ask(port: u16) {
    let trusted = std::env::var("EXPECT_TRUST").unwrap() == "1";
    run(async move {
        let direct = client(Proxies::none());
        let outcome = direct.request(get(&format!("https://localhost:{port}/"))).await;
        if !trusted {
            let error = outcome.err().unwrap();
            assert!(matches!(error, Error::Tls { .. }), "{error:?}");
            assert!(error.to_string().contains("SSL_CERT_FILE"), "{error}");
            return;
        }
        assert_eq!(text(outcome).await, "secret tea");
        // A name that the certificate does not carry.
        let error = direct.request(get(&format!("https://127.0.0.1:{port}/"))).await.err().unwrap();
        assert!(matches!(error, Error::Tls { .. }) && !error.may_have_acted(), "{error:?}");
        // Through CONNECT: the proxy carries the encrypted bytes to the server, whatever name was asked for.
        let proxy = Server::raw(move |_, mut stream, seen| {
            let request = read_request(&mut stream).unwrap();
            seen.lock().unwrap().push(request);
            stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
            let upstream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut a, mut b) = (stream.try_clone().unwrap(), upstream.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut a, &mut b));
            let (mut a, mut b) = (upstream, stream);
            let _ = std::io::copy(&mut a, &mut b);
        });
        let address = format!("http://127.0.0.1:{}", proxy.port);
        let proxies = Proxies::from_variables(|name| (name == "https_proxy").then(|| address.clone()));
        let error = client(proxies).request(get("https://example.test/")).await.err().unwrap();
        assert!(matches!(&error, Error::Tls { host, .. } if host == "example.test:443"), "{error:?}");
        assert!(proxy.seen()[0].starts_with("CONNECT example.test:443 "));
    });
}
