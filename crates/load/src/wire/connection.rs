//! One connection: opened, reused, written to, and read in one system call a read.

use super::{
    stamp,
    tls::{Session, TlsError},
};
use firstcheck_observe::Address;
use rustls::ClientConfig;
use std::{
    io::{self, Write},
    net::SocketAddr,
    os::fd::AsFd,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{io::Interest, net::TcpStream};

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
    timeout: Duration,
}

impl Peer {
    /// Resolves the name in `address` once, so that no request of a run waits for a resolver. `tls` is how to speak TLS,
    /// if that is what `address` asks for.
    ///
    /// # Errors
    /// [`ConnectionError::Unresolved`].
    pub async fn resolve(
        address: &Address,
        tls: Option<Arc<ClientConfig>>,
        timeout: Duration,
    ) -> Result<Self, ConnectionError> {
        let host = address.host().to_owned();
        let unresolved = |reason: String| ConnectionError::Unresolved { host: host.clone(), reason };
        let found = tokio::net::lookup_host((host.as_str(), address.port())).await;
        let addresses: Vec<SocketAddr> = found.map_err(|e| unresolved(e.to_string()))?.collect();
        if addresses.is_empty() {
            return Err(unresolved("it has no address".to_owned()));
        }
        Ok(Self { host, addresses, tls, timeout })
    }

    /// Opens a connection, TLS handshake included.
    ///
    /// # Errors
    /// Any [`ConnectionError`]; of several addresses, that of the last.
    pub async fn connect(&self) -> Result<Connection, ConnectionError> {
        let limit = self.timeout;
        match tokio::time::timeout(limit, self.connect_any()).await {
            Ok(result) => result,
            Err(_) => Err(ConnectionError::ConnectTimeout { limit }),
        }
    }

    async fn connect_any(&self) -> Result<Connection, ConnectionError> {
        let mut last = ConnectionError::Refused;
        for address in &self.addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => return self.set_up(stream).await,
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }

    async fn set_up(&self, socket: TcpStream) -> Result<Connection, ConnectionError> {
        socket.set_nodelay(true)?;
        let stamped = stamp::enable(socket.as_fd());
        let tls = self.tls.as_ref().map(|config| Session::new(config, &self.host).map(Box::new)).transpose()?;
        let mut connection = Connection { socket, tls, stamped };
        connection.shake_hands().await?;
        Ok(connection)
    }
}

/// What one read brought, transport encryption removed.
#[derive(Debug)]
pub struct Bytes<'b> {
    /// The bytes; may be empty with TLS while a record is incomplete.
    pub data: &'b [u8],
    /// When the kernel received the last of them: nanoseconds since 1970 on the wall clock.
    pub kernel_ns: Option<i64>,
    /// The peer has closed its side: nothing further will come.
    pub closed: bool,
}

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    socket: TcpStream,
    /// Boxed: it is large, and most connections have none.
    tls: Option<Box<Session>>,
    stamped: bool,
}

impl Connection {
    /// Whether the kernel stamps what this connection receives.
    pub fn is_stamped(&self) -> bool {
        self.stamped
    }

    /// Whether an idle connection can still carry a request: the peer did not close it and said nothing unasked.
    ///
    /// What TLS says by itself (session tickets after the handshake) is taken in.
    pub fn is_fresh(&mut self) -> bool {
        let mut buffer = [0_u8; 4 << 10];
        loop {
            let length = match rustix::net::recv(&self.socket, &mut buffer, rustix::net::RecvFlags::DONTWAIT) {
                Err(rustix::io::Errno::WOULDBLOCK) => return true,
                Ok((length, _)) if length > 0 => length,
                Ok(_) | Err(_) => return false,
            };
            let plain = self.tls.as_mut().map(|session| session.decrypt(&buffer[..length]));
            if !plain.is_some_and(|plain| plain.is_ok_and(<[u8]>::is_empty)) {
                return false;
            }
        }
    }

    /// Waits until there is something to read.
    ///
    /// # Errors
    /// Those of the reactor.
    #[inline]
    pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_read_ready(context)
    }

    /// Reads once into `buffer`; `None` when nothing was there after all.
    ///
    /// # Errors
    /// [`ConnectionError::Reset`] and other errors of the socket, [`ConnectionError::Tls`].
    #[inline]
    pub fn read<'b>(&'b mut self, buffer: &'b mut [u8]) -> Result<Option<Bytes<'b>>, ConnectionError> {
        let room = buffer.len();
        let mut received = None;
        let outcome = self.socket.try_io(Interest::READABLE, || {
            let length = received.insert(stamp::receive(self.socket.as_fd(), buffer)?).length;
            // A short read has emptied the socket (epoll(7), question 9): saying so here clears the readiness and
            // saves the system call that would only return EAGAIN.
            if length > 0 && length < room { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        let received = match (received, outcome) {
            (Some(received), _) => received,
            (None, Ok(())) => return Ok(None),
            (None, Err(error)) => {
                let nothing = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
                return if nothing { Ok(None) } else { Err(error.into()) };
            }
        };
        let data = &buffer[..received.length];
        let data = match &mut self.tls {
            None => data,
            Some(session) => session.decrypt(data)?,
        };
        Ok(Some(Bytes { data, kernel_ns: received.kernel_ns, closed: received.length == 0 }))
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// Errors of the socket.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        if self.tls.is_none() {
            return self.write_all(bytes).await;
        }
        let mut left = bytes;
        while !left.is_empty() {
            if let Some(session) = &mut self.tls {
                let taken = session.encrypt(left)?;
                left = &left[taken..];
            }
            self.flush().await?;
        }
        Ok(())
    }

    async fn write_all(&self, mut bytes: &[u8]) -> Result<(), ConnectionError> {
        while !bytes.is_empty() {
            match self.socket.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) => self.wait_writable(error).await?,
            }
        }
        Ok(())
    }

    /// Waits until the socket takes bytes again, if that is what `error` says.
    async fn wait_writable(&self, error: io::Error) -> io::Result<()> {
        match error.kind() {
            io::ErrorKind::WouldBlock => self.socket.writable().await,
            io::ErrorKind::Interrupted => Ok(()),
            _ => Err(error),
        }
    }

    async fn flush(&mut self) -> Result<(), ConnectionError> {
        loop {
            let Some(session) = self.tls.as_mut().filter(|session| session.wants_write()) else { return Ok(()) };
            if let Err(error) = session.write_to(&mut Writer(&self.socket)) {
                self.wait_writable(error).await?;
            }
        }
    }

    async fn shake_hands(&mut self) -> Result<(), ConnectionError> {
        let mut buffer = [0_u8; 8 << 10];
        loop {
            self.flush().await?;
            if !self.tls.as_ref().is_some_and(|session| session.is_handshaking()) {
                return Ok(());
            }
            self.socket.readable().await?;
            if self.read(&mut buffer)?.is_some_and(|bytes| bytes.closed) {
                return Err(ConnectionError::HandshakeClosed);
            }
        }
    }
}

/// The socket as a blocking-style writer, which is what rustls writes to.
struct Writer<'s>(&'s TcpStream);

impl Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
