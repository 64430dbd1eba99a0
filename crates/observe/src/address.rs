//! Where a deployment is.

use crate::error::{Error, Result};
use hyper::{
    Uri,
    http::uri::{PathAndQuery, Scheme},
};
use std::{fmt, str::FromStr};

/// An address over HTTP: scheme, host, port, path and query.
///
/// # Example: a base with or without `/v1`
/// ```
/// use firstcheck_observe::Address;
/// let base: Address = "http://gpu-7:8000/llama/v1/".parse()?;
/// assert_eq!(base.root().join("/metrics").to_string(), "http://gpu-7:8000/llama/metrics");
/// assert!("gpu-7:8000".parse::<Address>().is_err());
/// # Ok::<(), firstcheck_observe::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    uri: Uri,
    tls: bool,
    host: String,
}

impl Address {
    /// The deployment's root: without query, and without the `/v1` that clients of the OpenAI protocol are given.
    pub fn root(&self) -> Self {
        let path = self.uri.path().trim_end_matches('/');
        let path = path.strip_suffix("/v1").unwrap_or(path);
        self.with_path(path)
    }

    /// `path` (with its leading slash, and a query where there is one) below this address.
    pub fn join(&self, path: &str) -> Self {
        self.with_path(&format!("{}{path}", self.uri.path().trim_end_matches('/')))
    }

    /// The metrics page of the deployment here: this address itself where it ends with `/metrics`.
    pub fn metrics(&self) -> Self {
        match self.parent("/metrics") {
            Some(_) => self.clone(),
            None => self.root().join("/metrics"),
        }
    }

    /// What this address is below, where it ends with `path`.
    pub fn parent(&self, path: &str) -> Option<Self> {
        Some(self.with_path(self.uri.path().trim_end_matches('/').strip_suffix(path)?))
    }

    fn with_path(&self, path: &str) -> Self {
        let path = if path.is_empty() { "/" } else { path };
        let mut parts = self.uri.clone().into_parts();
        // What does not parse as a path is left as it is: callers join constants.
        if let Ok(path) = PathAndQuery::from_str(path) {
            parts.path_and_query = Some(path);
        }
        let uri = Uri::from_parts(parts).unwrap_or_else(|_| self.uri.clone());
        Self { uri, ..self.clone() }
    }

    /// Whether it has a query, which neither [`Address::root`] nor what is below it keeps.
    pub fn has_query(&self) -> bool {
        self.uri.query().is_some()
    }

    /// Whether TLS is spoken.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// Host name or IP address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port, the scheme's own where none is given.
    pub fn port(&self) -> u16 {
        self.uri.port_u16().unwrap_or(if self.tls { 443 } else { 80 })
    }

    /// Host and port as the `Host` header has them.
    pub(crate) fn authority(&self) -> &str {
        self.uri.authority().map_or("", |authority| authority.as_str())
    }

    /// Path and query as the request line has them.
    pub(crate) fn path_and_query(&self) -> &str {
        self.uri.path_and_query().map_or("/", PathAndQuery::as_str)
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        // What stands before an @ may be a password, and a query may hold a key: neither reaches a message.
        let before_query = text.split_once('?').map_or_else(|| text.to_owned(), |(address, _)| format!("{address}?…"));
        let shown = before_query.rsplit_once('@').map_or(before_query.clone(), |(_, rest)| format!("…@{rest}"));
        let refuse = |why: String| Error::Address { address: shown.clone(), why };
        let uri = Uri::from_str(text.trim()).map_err(|error| refuse(error.to_string()))?;
        let tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(refuse("it needs http:// or https:// in front".into())),
        };
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            return Err(refuse("it holds a user name or password; send a header instead".into()));
        }
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if host.is_empty() {
            return Err(refuse("it names no host".into()));
        }
        let after_host = authority.strip_prefix(uri.host().unwrap_or_default()).unwrap_or_default();
        if !after_host.is_empty() && uri.port_u16().is_none() {
            return Err(refuse("its port is no number up to 65535".into()));
        }
        Ok(Self { tls, host, uri })
    }
}

/// For reading: a query is shown as `?…`, since it may hold a key.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        let query = if self.has_query() { "?…" } else { "" };
        write!(f, "{scheme}://{}{}{query}", self.authority(), self.uri.path())
    }
}
