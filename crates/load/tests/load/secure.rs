//! TLS: a certificate of an authority that was named is accepted, any other is not.

use crate::{
    offer::{closed, offer, options, target},
    server::stream,
};
use firstcheck_model::request::{Fate, Finish};
use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// A TLS server for localhost, its certificate in PEM, and how many connections were opened for requests (those for
/// pages, which bring a GET, are taken off again). Each connection carries
/// any number of requests.
fn serve() -> (u16, String, Arc<AtomicUsize>) {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".into(), "127.0.0.1".into()]).unwrap();
    let pem = certified.cert.pem();
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let opened = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&opened);
    thread::spawn(move || {
        for socket in listener.incoming() {
            let (config, counter) = (Arc::clone(&config), Arc::clone(&counter));
            thread::spawn(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                let session = rustls::ServerConnection::new(config).unwrap();
                let mut tls = rustls::StreamOwned::new(session, socket.unwrap());
                let mut request = Vec::new();
                let mut buffer = [0_u8; 4096];
                // A client that refuses the certificate ends the connection.
                while let Ok(length @ 1..) = tls.read(&mut buffer) {
                    request.extend_from_slice(&buffer[..length]);
                    if request.ends_with(b"}") {
                        request.clear();
                        // In pieces, so that events are split over records.
                        for piece in stream(200).chunks(1000) {
                            tls.write_all(piece).unwrap();
                        }
                    } else if request.starts_with(b"GET") && request.ends_with(b"\r\n\r\n") {
                        request.clear();
                        counter.fetch_sub(1, Ordering::Relaxed);
                        tls.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").unwrap();
                    }
                }
            });
        }
    });
    (port, pem, opened)
}

#[test]
fn an_authority_that_was_named_is_accepted() {
    let (port, pem, opened) = serve();
    let folder = tempfile::tempdir().unwrap();
    let authorities = folder.path().join("authorities.pem");
    std::fs::write(&authorities, pem).unwrap();
    for host in ["localhost", "127.0.0.1"] {
        let mut target = target(&format!("https://{host}:{port}"));
        target.authorities = Some(authorities.clone());
        let outcome = offer(&closed(4, 2), &target, &options());
        for (row, request) in (0..).zip(&outcome.requests.0) {
            assert_eq!((request.fate, request.finish), (Fate::Completed, Some(Finish::Length)), "{request:?}");
            assert_eq!(outcome.events_of(row).len(), 204);
        }
        // Session tickets, which arrive on idle connections, do not make them unusable.
        assert_eq!(opened.swap(0, Ordering::Relaxed), 2);
    }
}

#[test]
fn an_unknown_authority_is_refused() {
    let (port, ..) = serve();
    let outcome = offer(&closed(2, 1), &target(&format!("https://localhost:{port}")), &options());
    for request in &outcome.requests.0 {
        assert_eq!(request.fate, Fate::Failed);
        assert!(request.error.as_deref().unwrap().starts_with("tls: tls: invalid peer certificate"), "{request:?}");
        assert!(!request.sent.reached(), "nothing is sent to a server that is not known");
    }
}
