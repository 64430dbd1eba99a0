//! TLS between the socket and the reader of the answer.
//!
//! rustls does no I/O of its own: ciphertext that was received goes in, plain bytes come out, and the kernel's stamp of
//! the read stays with them. Certificates are always verified.

use rustls::{ClientConfig, ClientConnection, pki_types::ServerName};
use std::{
    io::{self, Read, Write},
    sync::Arc,
};

/// TLS cannot be spoken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The host is no name that a certificate could be issued for.
    #[error("the host {0:?} cannot be verified: it is neither a name nor an address")]
    Host(String),
    /// Any refusal of rustls: a certificate that does not verify, a protocol error.
    #[error("tls: {0}")]
    Protocol(#[from] rustls::Error),
}

/// The TLS side of one connection.
#[derive(Debug)]
pub struct Session {
    tls: ClientConnection,
    plain: Vec<u8>,
}

impl Session {
    /// A session with `host`, before its handshake.
    ///
    /// # Errors
    /// [`TlsError::Host`] or [`TlsError::Protocol`].
    pub fn new(config: &Arc<ClientConfig>, host: &str) -> Result<Self, TlsError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Host(host.to_owned()))?;
        Ok(Self { tls: ClientConnection::new(Arc::clone(config), name)?, plain: Vec::new() })
    }

    /// Whether the handshake is still going on.
    pub fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Takes in received bytes and gives the plain ones that they complete.
    ///
    /// # Errors
    /// [`TlsError::Protocol`].
    pub fn decrypt(&mut self, mut received: &[u8]) -> Result<&[u8], TlsError> {
        self.plain.clear();
        loop {
            // Reading from a slice cannot fail; rustls refuses more than it can hold, so it is emptied in between.
            let taken = self.tls.read_tls(&mut received).map_err(|e| rustls::Error::General(e.to_string()))?;
            let state = self.tls.process_new_packets()?;
            let known = self.plain.len();
            self.plain.resize(known + state.plaintext_bytes_to_read(), 0);
            if known < self.plain.len() {
                let read = self.tls.reader().read(&mut self.plain[known..]);
                let read = read.map_err(|e| rustls::Error::General(e.to_string()))?;
                self.plain.truncate(known + read);
            }
            if received.is_empty() || taken == 0 {
                return Ok(&self.plain);
            }
        }
    }

    /// Takes plain bytes to be sent; gives how many were taken.
    ///
    /// # Errors
    /// Those of the session's buffer.
    pub fn encrypt(&mut self, plain: &[u8]) -> io::Result<usize> {
        self.tls.writer().write(plain)
    }

    /// Whether ciphertext waits to be written to the socket.
    pub fn wants_write(&self) -> bool {
        self.tls.wants_write()
    }

    /// Writes waiting ciphertext.
    ///
    /// # Errors
    /// Those of `socket`.
    pub fn write_to(&mut self, socket: &mut impl Write) -> io::Result<usize> {
        self.tls.write_tls(socket)
    }
}
