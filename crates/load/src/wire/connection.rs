//! One connection: opened, reused, written to, and read in one system call a read. It never waits.

use super::{
    peer::{ConnectionError, Peer},
    stamp,
    tls::Session,
};
use mio::{Registry, Token, net::TcpStream};
use std::{
    io::{self, Write},
    os::fd::AsFd,
};

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// To the address of this number.
    Connecting(usize),
    ShakingHands,
    Open,
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
    /// The buffer was filled: there may be more to read already.
    pub full: bool,
}

/// A connection in a poll that announces changes, not states: whoever is told of one goes on until nothing is left.
#[derive(Debug)]
pub struct Connection {
    socket: TcpStream,
    /// Boxed: it is large, and most connections have none.
    tls: Option<Box<Session>>,
    stage: Stage,
    stamped: bool,
}

impl Connection {
    /// A connection that is being opened to the peer's address of this number.
    pub(super) fn new(socket: TcpStream, address: usize) -> Self {
        Self { socket, stage: Stage::Connecting(address), stamped: false, tls: None }
    }

    /// Goes on with opening; true when the connection is open, TLS handshake included. `peer`, `registry` and `token` are
    /// those that it was opened with.
    ///
    /// # Errors
    /// Any [`ConnectionError`]; of several addresses, that of the last.
    pub fn establish(&mut self, peer: &Peer, registry: &Registry, token: Token) -> Result<bool, ConnectionError> {
        loop {
            match self.stage {
                Stage::Connecting(address) => match is_connected(&self.socket) {
                    Ok(false) => return Ok(false),
                    Ok(true) => self.set_up(peer)?,
                    Err(error) => {
                        let (socket, address) = peer.connect(address + 1, error.into(), registry, token)?;
                        (self.socket, self.stage) = (socket, Stage::Connecting(address));
                    }
                },
                Stage::ShakingHands => {
                    if !self.shake_hands()? {
                        return Ok(false);
                    }
                    self.stage = Stage::Open;
                }
                Stage::Open => return Ok(true),
            }
        }
    }

    fn set_up(&mut self, peer: &Peer) -> Result<(), ConnectionError> {
        self.socket.set_nodelay(true)?;
        self.stamped = stamp::enable(self.socket.as_fd());
        self.stage = match peer.tls() {
            None => Stage::Open,
            Some((config, host)) => {
                self.tls = Some(Box::new(Session::new(config, host)?));
                Stage::ShakingHands
            }
        };
        Ok(())
    }

    /// Goes on with the handshake; true when it is complete.
    fn shake_hands(&mut self) -> Result<bool, ConnectionError> {
        let mut buffer = [0_u8; 8 << 10];
        loop {
            if !self.flush()? {
                return Ok(false);
            }
            if !self.tls.as_ref().is_some_and(|session| session.is_handshaking()) {
                return Ok(true);
            }
            match self.read(&mut buffer)? {
                None => return Ok(false),
                Some(bytes) if bytes.closed => return Err(ConnectionError::HandshakeClosed),
                Some(_) => {}
            }
        }
    }

    /// Whether the kernel stamps what this connection receives.
    pub fn is_stamped(&self) -> bool {
        self.stamped
    }

    /// Whether an idle connection can still carry a request: the peer did not close it and said nothing unasked.
    ///
    /// What TLS says by itself (session tickets after the handshake) is taken in.
    pub fn is_fresh(&mut self) -> bool {
        let mut buffer = [0_u8; 4 << 10];
        let secure = self.tls.is_some();
        loop {
            match self.read(&mut buffer) {
                Ok(None) => return true,
                Ok(Some(bytes)) if secure && !bytes.closed && bytes.data.is_empty() => {}
                Ok(Some(_)) | Err(_) => return false,
            }
        }
    }

    /// Reads once into `buffer`; `None` when nothing is there.
    ///
    /// # Errors
    /// [`ConnectionError::Reset`] and other errors of the socket, [`ConnectionError::Tls`].
    #[inline]
    pub fn read<'b>(&'b mut self, buffer: &'b mut [u8]) -> Result<Option<Bytes<'b>>, ConnectionError> {
        let received = loop {
            match stamp::receive(self.socket.as_fd(), buffer) {
                Ok(received) => break received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        };
        let full = received.length == buffer.len();
        let data = &buffer[..received.length];
        let data = match &mut self.tls {
            None => data,
            Some(session) => session.decrypt(data)?,
        };
        Ok(Some(Bytes { data, kernel_ns: received.kernel_ns, closed: received.length == 0, full }))
    }

    /// Writes of `bytes` what lies behind the first `written`, which is moved on; true when nothing is left to be written.
    ///
    /// # Errors
    /// Errors of the socket.
    pub fn write(&mut self, bytes: &[u8], written: &mut usize) -> Result<bool, ConnectionError> {
        if self.tls.is_some() && !self.flush()? {
            return Ok(false);
        }
        while let Some(left) = bytes.get(*written..).filter(|left| !left.is_empty()) {
            match &mut self.tls {
                None => match self.socket.write(left) {
                    Ok(length) => *written += length,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error.into()),
                },
                Some(session) => {
                    *written += session.encrypt(left)?;
                    if !self.flush()? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Writes what TLS has to say; true when nothing is left of it.
    fn flush(&mut self) -> Result<bool, ConnectionError> {
        while let Some(session) = self.tls.as_mut().filter(|session| session.wants_write()) {
            match session.write_to(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

/// Whether the attempt to connect has come to its good end; an error is its bad one.
fn is_connected(socket: &TcpStream) -> io::Result<bool> {
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    match socket.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}
