//! Servers on loopback: a polite one in HTTP, and a raw one that says whatever a test wants.

use bytes::Bytes;
use firstcheck_observe::Address;
use http_body_util::Full;
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
};

/// What one path answers.
pub type Route = (&'static str, u16, &'static str);

/// A server with fixed answers by path; 404 elsewhere.
pub struct Server {
    pub base: Address,
    seen: Arc<Mutex<Vec<(String, hyper::HeaderMap)>>>,
}

impl Server {
    pub async fn start(routes: &[Route]) -> Self {
        let routes = routes.to_vec();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let seen: Arc<Mutex<Vec<_>>> = Arc::default();
        let log = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, routes.clone(), Arc::clone(&log)));
            }
        });
        Self { base, seen }
    }

    /// Requests so far: path with query, and headers.
    pub fn seen(&self) -> Vec<(String, hyper::HeaderMap)> {
        self.seen.lock().unwrap().clone()
    }
}

pub async fn serve(
    socket: impl AsyncRead + AsyncWrite + Unpin,
    routes: Vec<Route>,
    log: Arc<Mutex<Vec<(String, hyper::HeaderMap)>>>,
) {
    let service = service_fn(|request: Request<Incoming>| {
        log.lock().unwrap().push((request.uri().to_string(), request.headers().clone()));
        let path = request.uri().path();
        let found = routes.iter().find(|(route, ..)| *route == path).copied();
        let (_, status, body) = found.unwrap_or(("", 404, "{\"detail\":\"Not Found\"}"));
        let mut response = Response::builder().status(status).header("content-type", "application/json");
        if (300..400).contains(&status) {
            response = response.header("location", body);
        }
        let response = response.body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap();
        std::future::ready(Ok::<_, Infallible>(response))
    });
    // A client that goes away is the test's business.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
}

/// A server whose answers `answer` makes of path and query.
pub async fn answering(answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                let service = service_fn(|request: Request<Incoming>| {
                    let (status, body) = answer(&request.uri().to_string());
                    let response = Response::builder().status(status).body(Full::new(Bytes::from(body))).unwrap();
                    std::future::ready(Ok::<_, Infallible>(response))
                });
                // A client that goes away is the test's business.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
            });
        }
    });
    base
}

/// A server that reads a request's head, says `answer`, and then closes, or with `stay` keeps the connection.
pub async fn raw(answer: &'static [u8], stay: bool) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = Vec::new();
            // A TLS greeting has no such end.
            while !head.ends_with(b"\r\n\r\n") && !head.starts_with(b"\x16") {
                let mut buffer = [0; 1024];
                let read = socket.read(&mut buffer).await.unwrap();
                head.extend_from_slice(&buffer[..read]);
                if read == 0 {
                    break;
                }
            }
            let _ = socket.write_all(answer).await;
            if stay {
                kept.push(socket);
            }
        }
    });
    base
}
