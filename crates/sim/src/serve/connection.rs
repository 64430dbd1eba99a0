//! Connections: accepting them, and the answer to each request.

use super::{
    ServeOptions,
    api::{
        Endpoint,
        ask::Ask,
        error::ApiError,
        pages,
        render::{Heading, Render},
    },
    core::Shared,
    stream::Stream,
};
use crate::{
    EngineKind, Features,
    deployment::{Call, fleet::Fleet},
    emit::sglang,
    language::sampling::Sampling,
};
use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full, LengthLimitError, Limited};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::Incoming,
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, oneshot},
    task::spawn_local,
};

type Body = Either<Full<Bytes>, Stream>;

const JSON: &str = "application/json";
const METRICS: &str = "text/plain; version=1.0.0; charset=utf-8";

/// How long accepting rests when the system has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Serves until told to stop.
pub(super) async fn serve(fleet: Fleet, options: ServeOptions, listener: TcpListener, stopped: oneshot::Receiver<()>) {
    let seats = Arc::new(Semaphore::new(options.max_connections.clamp(1, Semaphore::MAX_PERMITS)));
    let shared = Shared::new(fleet, options);
    spawn_local(shared.clone().run());
    let accepting = async {
        loop {
            let Ok(seat) = Arc::clone(&seats).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((socket, _)) => {
                    let shared = shared.clone();
                    spawn_local(async move {
                        converse(shared, socket).await;
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

/// One connection. How it ends (a client that leaves, a malformed head) is between it and its client.
async fn converse(shared: Shared, socket: TcpStream) {
    // Without it a token could wait for the acknowledgement of the one before.
    let _ = socket.set_nodelay(true);
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(answer(&shared, request).await) }
    });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
}

async fn answer(shared: &Shared, request: Request<Incoming>) -> Response<Body> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let replica = replica_page(&path);
    let allowed = match path.as_str() {
        _ if replica.is_some() => Method::GET,
        "/health" | "/ping" | "/version" | "/v1/models" | "/metrics" => Method::GET,
        "/server_info" | "/get_server_info" if shared.config().engine == EngineKind::Sglang => Method::GET,
        "/v1/completions" | "/v1/chat/completions" | "/tokenize" | "/detokenize" => Method::POST,
        _ => return plain(StatusCode::NOT_FOUND, JSON, r#"{"detail":"Not Found"}"#),
    };
    if method != allowed {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, JSON, r#"{"detail":"Method Not Allowed"}"#);
        if let Ok(value) = HeaderValue::from_str(allowed.as_str()) {
            response.headers_mut().insert(ALLOW, value);
        }
        return response;
    }
    if let Some(replica) = replica {
        return match shared.page_of(replica) {
            Some(page) => plain(StatusCode::OK, METRICS, page),
            None => plain(StatusCode::NOT_FOUND, JSON, r#"{"detail":"Not Found"}"#),
        };
    }
    match path.as_str() {
        "/version" => plain(StatusCode::OK, JSON, pages::version(shared.config())),
        "/server_info" | "/get_server_info" => {
            let port = shared.options().addr.port();
            plain(StatusCode::OK, JSON, sglang::server_info(shared.config(), port).to_string())
        }
        "/v1/models" => plain(StatusCode::OK, JSON, pages::models(shared.config(), shared.started_unix_seconds())),
        "/metrics" => plain(StatusCode::OK, METRICS, shared.page()),
        "/tokenize" | "/detokenize" => tokens(shared, request, &path).await.unwrap_or_else(|error| refuse(&error)),
        "/v1/completions" => generate(shared, request, Endpoint::Completion).await,
        "/v1/chat/completions" => generate(shared, request, Endpoint::Chat).await,
        _ => plain(StatusCode::OK, JSON, ""),
    }
}

/// The replica whose page `/replicas/N/metrics` is.
fn replica_page(path: &str) -> Option<usize> {
    path.strip_prefix("/replicas/")?.strip_suffix("/metrics")?.parse().ok()
}

async fn tokens(shared: &Shared, request: Request<Incoming>, path: &str) -> Result<Response<Body>, ApiError> {
    let bytes = read_body(shared, request).await?;
    let page = match path {
        "/tokenize" => pages::tokenize(&bytes, shared.config()),
        _ => pages::detokenize(&bytes),
    };
    Ok(plain(StatusCode::OK, JSON, page?))
}

async fn generate(shared: &Shared, request: Request<Incoming>, endpoint: Endpoint) -> Response<Body> {
    match submit(shared, request, endpoint).await {
        Err(error) => refuse(&error),
        Ok((true, stream)) => {
            let mut response = Response::new(Either::Right(stream));
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            response
        }
        Ok((false, stream)) => match stream.whole().await {
            Ok(bytes) => plain(StatusCode::OK, JSON, bytes),
            Err(error) => refuse(&ApiError::internal(error.to_string())),
        },
    }
}

/// Reads a request and hands it to the engine; returns whether the answer is streamed, and the answer.
async fn submit(shared: &Shared, request: Request<Incoming>, endpoint: Endpoint) -> Result<(bool, Stream), ApiError> {
    let given_id = request_id(request.headers());
    let bytes = read_body(shared, request).await?;
    let config = shared.config();
    let ask = Ask::read(&bytes, endpoint, &config.model_name)?;
    let (tag, own_id) = shared.next_request();
    let sampling = Some(Box::new(ask.sampling)).filter(|asked| **asked != Sampling::greedy());
    let mut call = Call {
        tag,
        session: None,
        prompt: ask.prompt,
        max_tokens: ask.max_tokens,
        min_tokens: ask.min_tokens,
        ignore_eos: ask.ignore_eos,
        features: Features::default(),
        sampling,
    };
    shared.render(&mut call);
    // What the engine will make of it: an answer states the prompt as the model got it.
    let seen = config.sampler.prompt.apply(Arc::from(call.prompt.as_slice()));
    let render = Render::new(Heading {
        endpoint,
        id: given_id.unwrap_or(own_id),
        created: shared.unix_seconds(),
        model: config.model_name.clone(),
        version: config.version.clone(),
        // A prompt too long to count is refused by the engine.
        prompt_tokens: u32::try_from(seen.len()).unwrap_or(u32::MAX),
        stream: ask.stream,
        include_usage: ask.include_usage,
        continuous_usage: ask.continuous_usage,
        prompt_tokens_details: shared.options().prompt_tokens_details,
        logprobs: call.sampling.as_ref().and_then(|asked| asked.logprobs),
        token_ids: ask.return_token_ids.then_some(seen),
    });
    let stream = shared.submit(call, render).map_err(|refused| ApiError::refused(refused.status, refused.message))?;
    Ok((ask.stream, stream))
}

/// The client's own name for the request, of sensible length.
fn request_id(headers: &HeaderMap) -> Option<String> {
    let given = headers.get("x-request-id")?.to_str().ok()?;
    (!given.is_empty() && given.len() <= 256).then(|| given.to_owned())
}

async fn read_body(shared: &Shared, request: Request<Incoming>) -> Result<Bytes, ApiError> {
    let limit = shared.options().max_body_bytes;
    let collected = Limited::new(request.into_body(), limit).collect().await;
    collected.map(|body| body.to_bytes()).map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => ApiError::too_large(limit),
        None => ApiError::bad(format!("cannot read the body: {error}"), None),
    })
}

fn refuse(error: &ApiError) -> Response<Body> {
    plain(error.status, JSON, error.body())
}

fn plain(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(body.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
