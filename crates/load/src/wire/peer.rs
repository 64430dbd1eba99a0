//! The deployment's side of a connection: where it is, how to speak to it, and why that failed.

use super::{connection::Connection, tls::TlsError};
use firstcheck_observe::Address;
use mio::{Interest, Registry, Token, net::TcpStream};
use rustls::ClientConfig;
use std::{io, net::SocketAddr, sync::Arc, time::Duration};

/// A connection could not be opened or broke.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// Nobody listens.
    #[error("connection refused")]
    Refused,
    /// The host's name has no address.
    #[error("cannot resolve {host:?}: {reason}")]
    Unresolved {
        /// The name.
        host: String,
        /// What the resolver said.
        reason: String,
    },
    /// No answer to the attempt to connect.
    #[error("no connection within {} s", limit.as_secs_f64())]
    ConnectTimeout {
        /// The limit in force.
        limit: Duration,
    },
    /// The peer broke the connection off.
    #[error("connection reset by the server")]
    Reset,
    /// The peer closed during the TLS handshake.
    #[error("the server closed the connection during the tls handshake")]
    HandshakeClosed,
    /// TLS refused.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Another error of the operating system.
    #[error("{0}")]
    Io(io::Error),
}

impl ConnectionError {
    /// A short stable name to count this failure by.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Refused => "connection refused",
            Self::Unresolved { .. } => "unresolved",
            Self::ConnectTimeout { .. } => "connect timeout",
            Self::Reset => "reset",
            Self::HandshakeClosed | Self::Tls(_) => "tls",
            Self::Io(_) => "io",
        }
    }
}

impl From<io::Error> for ConnectionError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
                Self::Reset
            }
            _ => Self::Io(error),
        }
    }
}

/// Everything needed to open connections to one deployment.
#[derive(Debug, Clone)]
pub struct Peer {
    host: String,
    addresses: Vec<SocketAddr>,
    tls: Option<Arc<ClientConfig>>,
}

impl Peer {
    /// Resolves the name in `address` once, so that no request of a run waits for a resolver. `tls` is how to speak TLS,
    /// if that is what `address` asks for.
    ///
    /// # Errors
    /// [`ConnectionError::Unresolved`].
    pub async fn resolve(address: &Address, tls: Option<Arc<ClientConfig>>) -> Result<Self, ConnectionError> {
        let host = address.host().to_owned();
        let unresolved = |reason: String| ConnectionError::Unresolved { host: host.clone(), reason };
        let found = tokio::net::lookup_host((host.as_str(), address.port())).await;
        let addresses: Vec<SocketAddr> = found.map_err(|e| unresolved(e.to_string()))?.collect();
        if addresses.is_empty() {
            return Err(unresolved("it has no address".to_owned()));
        }
        Ok(Self { host, addresses, tls })
    }

    /// Begins to open a connection that the poll of `registry` announces as `token`; [`Connection::establish`] goes on
    /// with it.
    ///
    /// # Errors
    /// Any [`ConnectionError`]; of several addresses, that of the last.
    pub fn open(&self, registry: &Registry, token: Token) -> Result<Connection, ConnectionError> {
        let (socket, address) = self.connect(0, ConnectionError::Refused, registry, token)?;
        Ok(Connection::new(socket, address))
    }

    /// Begins to connect to the address number `first`, or to the next one that does not refuse at once; gives its number.
    /// `error` is what the address before said.
    pub(super) fn connect(
        &self,
        first: usize,
        error: ConnectionError,
        registry: &Registry,
        token: Token,
    ) -> Result<(TcpStream, usize), ConnectionError> {
        let mut last = error;
        for (number, address) in self.addresses.iter().enumerate().skip(first) {
            match begin(*address, registry, token) {
                Ok(socket) => return Ok((socket, number)),
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }

    /// The host's name, and how to speak TLS to it, if that is how it is spoken to.
    pub(super) fn tls(&self) -> Option<(&Arc<ClientConfig>, &str)> {
        self.tls.as_ref().map(|config| (config, self.host.as_str()))
    }
}

fn begin(address: SocketAddr, registry: &Registry, token: Token) -> io::Result<TcpStream> {
    let mut socket = TcpStream::connect(address)?;
    registry.register(&mut socket, token, Interest::READABLE | Interest::WRITABLE)?;
    Ok(socket)
}
