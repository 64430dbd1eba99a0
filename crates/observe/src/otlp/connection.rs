//! Connections of exporters, and the answer to each export.

use super::{
    PATH, Shared, Taken,
    answer::{Encoding, Refusal},
    body,
};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, oneshot},
    task::JoinSet,
};

/// How long accepting rests when the system has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// How long a connection may stay without a request: exporters send each few seconds.
const IDLE: Duration = Duration::from_secs(120);

/// Serves until told to stop, or until the other end of `stopped` is gone.
pub(super) async fn serve(listener: std::net::TcpListener, shared: Arc<Shared>, stopped: oneshot::Receiver<()>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let permits = |count: usize| Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)));
    let (seats, bodies) = (permits(shared.limits.connections), permits(shared.limits.bodies));
    let accepting = async {
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok(seat) = Arc::clone(&seats).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((socket, _)) => {
                    let conversation = converse(socket, Arc::clone(&shared), Arc::clone(&bodies));
                    connections.spawn(async move {
                        conversation.await;
                        drop(seat);
                    });
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        _ = stopped => {}
    }
}

/// One connection. How it ends (an exporter that leaves, a malformed head) is between it and its exporter.
async fn converse(socket: TcpStream, shared: Arc<Shared>, bodies: Arc<Semaphore>) {
    let service = service_fn(|request| {
        let (shared, bodies) = (Arc::clone(&shared), Arc::clone(&bodies));
        async move { Ok::<_, Infallible>(answer(&shared, &bodies, request).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(IDLE);
    let _ = server.serve_connection(TokioIo::new(socket), service).await;
}

async fn answer(shared: &Shared, bodies: &Semaphore, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let encoding = Encoding::of(request.headers()).unwrap_or(Encoding::Json);
    let taken = match take(shared, bodies, request).await {
        Ok(taken) => taken,
        Err(refusal) => {
            shared.refused(&refusal.reason);
            return respond(refusal.status, encoding, encoding.error(&refusal));
        }
    };
    match taken {
        Taken::AllBut(beyond) => {
            let limit = shared.limits.spans;
            respond(StatusCode::OK, encoding, encoding.success(beyond, &format!("more than {limit} spans of one run")))
        }
        Taken::Later => {
            let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the disk does not keep up: send it again");
            let mut response = respond(refusal.status, encoding, encoding.error(&refusal));
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            response
        }
    }
}

async fn take(shared: &Shared, bodies: &Semaphore, request: Request<Incoming>) -> Result<Taken, Refusal> {
    if request.uri().path() != PATH {
        return Err(Refusal::new(StatusCode::NOT_FOUND, "only traces are taken: post them to /v1/traces"));
    }
    if request.method() != Method::POST {
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "traces are posted"));
    }
    let Some(encoding) = Encoding::of(request.headers()) else {
        let reason = "the content type is neither application/x-protobuf nor application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
    };
    // It is never closed; were it, reading without it would do.
    let permit = bodies.acquire().await;
    let bytes = body::read(request, &shared.limits).await?;
    let spans = encoding.read(&bytes)?;
    drop((permit, bytes));
    Ok(shared.take(spans))
}

fn respond(status: StatusCode, encoding: Encoding, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(encoding.content_type()));
    response
}
