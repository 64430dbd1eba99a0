//! Certificates are verified.

use crate::server::serve;
use firstcheck_observe::{Address, Error, Headers, HttpClient, Settings};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use std::{path::PathBuf, sync::Arc};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A server whose certificate is for `localhost` alone; its port, and the certificate as a file.
async fn start(dir: &TempDir) -> (u16, PathBuf) {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let path = dir.path().join("ca.pem");
    std::fs::write(&path, issued.cert.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            // A client that does not trust us hangs up: that is what is tested.
            if let Ok(socket) = acceptor.accept(socket).await {
                serve(socket, vec![("/x", 200, "over TLS")], Arc::default()).await;
            }
        }
    });
    (port, path)
}

async fn get(host: &str, port: u16, extra_ca: Option<PathBuf>) -> Result<String, Error> {
    let address: Address = format!("https://{host}:{port}/x").parse()?;
    let client = HttpClient::new(&Settings { extra_ca, ..Settings::default() })?;
    let answer = client.get(&address, &Headers::default(), "*/*").await?;
    Ok(String::from_utf8_lossy(&answer.body).into_owned())
}

#[tokio::test]
async fn only_a_trusted_certificate_of_that_name_will_do() {
    let dir = tempfile::tempdir().unwrap();
    let (port, ca) = start(&dir).await;
    assert_eq!(get("localhost", port, Some(ca.clone())).await.unwrap(), "over TLS");
    let unknown = get("localhost", port, None).await.unwrap_err();
    assert!(matches!(unknown, Error::Tls { .. }) && unknown.to_string().contains("UnknownIssuer"), "{unknown}");
    let other_name = get("127.0.0.1", port, Some(ca)).await.unwrap_err();
    assert!(
        matches!(other_name, Error::Tls { .. }) && other_name.to_string().contains("not valid for"),
        "{other_name}"
    );
}

#[tokio::test]
async fn speaking_tls_to_a_server_that_does_not_is_named() {
    let base = crate::server::raw(b"HTTP/1.1 400 Bad Request\r\n\r\n", false).await;
    let error = get("127.0.0.1", base.port(), None).await.unwrap_err();
    assert!(matches!(error, Error::Tls { .. }), "{error}");
}

#[test]
fn a_file_without_certificates_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("empty.pem");
    std::fs::write(&empty, "no certificate here\n").unwrap();
    for path in [empty, dir.path().join("absent.pem")] {
        let error = HttpClient::new(&Settings { extra_ca: Some(path.clone()), ..Settings::default() }).unwrap_err();
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
}
