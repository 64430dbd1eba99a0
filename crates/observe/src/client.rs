//! One request, one answer, within limits.

use crate::{
    address::Address,
    error::{Error, Result},
    headers::Headers,
    tls,
};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::{
    Request, Response,
    body::Incoming,
    client::conn::http1,
    header::{
        ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, HeaderValue, LOCATION,
        USER_AGENT,
    },
};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, pki_types::ServerName};
use std::{
    future::Future,
    io,
    path::PathBuf,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

/// Bytes of an error's body that are read.
const ERROR_BYTES: usize = 4 << 10;
/// Bytes of them that a message shows.
const SHOWN: usize = 200;

/// Limits of a client.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Longest wait for a connection, TLS included.
    pub connect: Duration,
    /// Longest wait for the whole answer, connection included.
    pub total: Duration,
    /// Longest body that is read, bytes.
    pub body_limit: usize,
    /// PEM file of authorities to trust besides the system's.
    pub extra_ca: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { connect: Duration::from_secs(3), total: Duration::from_secs(10), body_limit: 64 << 20, extra_ca: None }
    }
}

/// Asks over HTTP/1.1, a connection a request: a server that closes idle connections just now costs no scrape.
#[derive(Debug, Clone)]
pub struct HttpClient {
    settings: Settings,
    tls: Arc<ClientConfig>,
}

/// An answer with a status of success (2xx).
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its body.
    pub body: Bytes,
    /// Its `Content-Type`.
    pub content_type: Option<String>,
    /// When the request was handed to the connection.
    pub sent: Instant,
    /// When the head of the answer was there.
    pub head: Instant,
    /// When the body was there.
    pub done: Instant,
}

impl HttpClient {
    /// A client with these limits.
    ///
    /// # Errors
    /// [`Error::Certificates`].
    pub fn new(settings: &Settings) -> Result<Self> {
        Ok(Self { settings: settings.clone(), tls: tls::client_config(settings.extra_ca.as_deref())? })
    }

    /// Gets `address` with `headers`, asking for the media type `accept`. Redirects are not followed: a key must not
    /// travel to where it was not meant for.
    ///
    /// # Errors
    /// Any [`Error`] of a connection or an answer.
    pub async fn get(&self, address: &Address, headers: &Headers, accept: &str) -> Result<Answer> {
        let limit = self.settings.total;
        let attempt = self.attempt(address, headers, accept);
        timeout(limit, attempt).await.unwrap_or_else(|_| Err(timed_out(address, "answer in full", limit)))
    }

    async fn attempt(&self, address: &Address, headers: &Headers, accept: &str) -> Result<Answer> {
        let request = request(address, headers, accept)?;
        let limit = self.settings.connect;
        let late = |_| timed_out(address, "accept a connection", limit);
        let start = tokio::time::Instant::now();
        let socket = timeout(limit, TcpStream::connect((address.host(), address.port()))).await.map_err(late)?;
        let socket = socket.map_err(|source| Error::Connect { address: address.to_string(), source })?;
        if !address.is_tls() {
            return self.exchange(address, request, socket).await;
        }
        let failed = |source| Error::Tls { address: address.to_string(), source };
        let name = ServerName::try_from(address.host().to_owned())
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
        let handshake = TlsConnector::from(Arc::clone(&self.tls)).connect(name, socket);
        let left = limit.saturating_sub(start.elapsed());
        let socket = timeout(left, handshake).await.map_err(late)?.map_err(failed)?;
        self.exchange(address, request, socket).await
    }

    async fn exchange<S>(&self, address: &Address, request: Request<Empty<Bytes>>, socket: S) -> Result<Answer>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let broken = |source| Error::Protocol { address: address.to_string(), source };
        let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await.map_err(broken)?;
        let sent = Instant::now();
        let exchange = async {
            let response = sender.send_request(request).await.map_err(broken)?;
            let head = Instant::now();
            self.read(address, response, sent, head).await
        };
        beside(exchange, connection).await
    }

    async fn read(
        &self,
        address: &Address,
        response: Response<Incoming>,
        sent: Instant,
        head: Instant,
    ) -> Result<Answer> {
        let text = |name: HeaderName| {
            response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let (status, location, content_type) = (response.status(), text(LOCATION), text(CONTENT_TYPE));
        let encoding = text(CONTENT_ENCODING).filter(|encoding| !encoding.eq_ignore_ascii_case("identity"));
        let limit = if status.is_success() { self.settings.body_limit } else { ERROR_BYTES };
        let (body, whole) = collect(address, response.into_body(), limit).await?;
        if !status.is_success() {
            let detail = match location.filter(|_| status.is_redirection()) {
                Some(location) => format!("it redirects to {location}; give that address if it is the one"),
                None => shown(&body),
            };
            return Err(Error::Status { address: address.to_string(), status: status.as_u16(), detail });
        }
        if !whole {
            return Err(Error::TooLarge { address: address.to_string(), limit });
        }
        if let Some(encoding) = encoding {
            return Err(Error::Encoding { address: address.to_string(), encoding });
        }
        Ok(Answer { body: body.into(), content_type, sent, head, done: Instant::now() })
    }
}

/// Drives the connection while `exchange` runs, in the same task.
async fn beside<T>(exchange: impl Future<Output = T>, connection: impl Future) -> T {
    let (mut exchange, mut connection) = (pin!(exchange), pin!(connection));
    let mut open = true;
    loop {
        tokio::select! {
            biased;
            result = &mut exchange => return result,
            _ = &mut connection, if open => open = false,
        }
    }
}

/// At most `limit` bytes of a body, and whether that is all of it.
async fn collect(address: &Address, mut body: Incoming, limit: usize) -> Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|source| Error::Protocol { address: address.to_string(), source })?;
        let Some(data) = frame.data_ref() else { continue };
        let room = limit - bytes.len();
        bytes.extend_from_slice(data.get(..room).unwrap_or(data));
        if data.len() > room {
            return Ok((bytes, false));
        }
    }
    Ok((bytes, true))
}

fn request(address: &Address, headers: &Headers, accept: &str) -> Result<Request<Empty<Bytes>>> {
    let unsendable = |name: &HeaderName| Error::Header { name: name.to_string(), why: "its value cannot be sent" };
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = address
        .path_and_query()
        .parse()
        .map_err(|_| Error::Address { address: address.to_string(), why: "its path cannot be sent".into() })?;
    let ours = request.headers_mut();
    for (name, value) in [
        (HOST, address.authority()),
        (ACCEPT, accept),
        (ACCEPT_ENCODING, "identity"),
        (CONNECTION, "close"),
        (USER_AGENT, concat!("firstcheck/", env!("CARGO_PKG_VERSION"))),
    ] {
        let value = HeaderValue::from_str(value).map_err(|_| unsendable(&name))?;
        ours.insert(name, value);
    }
    // The caller's word counts, but the connection is ours.
    for name in headers.map().keys().filter(|name| **name != CONNECTION) {
        ours.remove(name);
        for value in headers.map().get_all(name) {
            ours.append(name.clone(), value.clone());
        }
    }
    Ok(request)
}

/// What a server says of its error: the message where it is one of the Prometheus API, else the beginning of the body, on
/// one line.
fn shown(body: &[u8]) -> String {
    let stated = serde_json::from_slice::<Stated>(body).map(|stated| format!("{}: {}", stated.kind, stated.error));
    let body = stated.as_ref().map_or(body.get(..SHOWN).unwrap_or(body), |message| message.as_bytes());
    let text = String::from_utf8_lossy(body);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

/// An error of the Prometheus API.
#[derive(serde::Deserialize)]
struct Stated {
    #[serde(rename = "errorType")]
    kind: String,
    error: String,
}

fn timed_out(address: &Address, what: &'static str, after: Duration) -> Error {
    Error::Timeout { address: address.to_string(), what, after }
}
