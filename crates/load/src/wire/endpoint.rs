//! Where requests go: scheme, host, port and path of a deployment.

use std::fmt;

/// Address of a deployment, e.g. `http://127.0.0.1:8000` or `https://example.org/llm`.
///
/// # Example
/// ```
/// use firstcheck_load::wire::endpoint::Endpoint;
/// let endpoint: Endpoint = "https://example.org/llm/".parse().unwrap();
/// assert_eq!((endpoint.port, endpoint.path("/v1/models")), (443, "/llm/v1/models".to_owned()));
/// assert!("ftp://example.org".parse::<Endpoint>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Whether the scheme is `https`.
    pub tls: bool,
    /// Name or address, without the brackets of an IPv6 address.
    pub host: String,
    /// Port; 80 or 443 when the URL names none.
    pub port: u16,
    /// Path in front of `/v1/…`, without a slash at its end; empty for the root.
    pub base: String,
}

/// A URL that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Not `http://` or `https://`.
    #[error("the url {0:?} begins with neither http:// nor https://")]
    Scheme(String),
    /// Credentials in a URL would end up in files.
    #[error("the url carries a user name or password; pass the key in an environment variable instead")]
    Credentials,
    /// No host, or one with characters that no host has.
    #[error("the url {0:?} names no usable host")]
    Host(String),
    /// The port is no number up to 65535.
    #[error("the port {0:?} is not a number from 1 to 65535")]
    Port(String),
    /// Control characters, blanks, a query or a fragment in the path.
    #[error("the path {0:?} holds characters that cannot be sent, a query or a fragment")]
    Path(String),
}

impl Endpoint {
    /// The request path of `suffix` (`/v1/models`) at this deployment.
    pub fn path(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.base)
    }

    /// The value of the `host` header.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let default = if self.tls { 443 } else { 80 };
        if self.port == default { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.base)
    }
}

impl std::str::FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(url: &str) -> Result<Self, EndpointError> {
        let url = url.trim();
        let (tls, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            // Not quoted in full: what has no scheme may be anything, a key included.
            _ => return Err(EndpointError::Scheme(url.chars().take(8).collect())),
        };
        let (authority, base) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(EndpointError::Credentials);
        }
        let (host, port) = split_port(authority)?;
        let usable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
        if host.is_empty() || !host.chars().all(usable) {
            return Err(EndpointError::Host(authority.to_owned()));
        }
        if !base.chars().all(|c| c.is_ascii_graphic() && c != '?' && c != '#') {
            return Err(EndpointError::Path(base.to_owned()));
        }
        let port = match port {
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
            Some(text) => match text.parse() {
                Ok(0) | Err(_) => return Err(EndpointError::Port(text.to_owned())),
                Ok(port) => port,
            },
        };
        Ok(Self { tls, host: host.to_owned(), port, base: base.trim_end_matches('/').to_owned() })
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<&str>), EndpointError> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or_else(|| EndpointError::Host(authority.to_owned()))?;
        return match after.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if after.is_empty() => Ok((host, None)),
            None => Err(EndpointError::Host(authority.to_owned())),
        };
    }
    Ok(match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    })
}
