//! TLS between the socket and the reader of the answer.
//!
//! rustls does no I/O of its own: ciphertext that was received goes in, plain bytes come out, and the kernel's stamp of
//! the read stays with them. Certificates are always verified.

use rustls::{
    ClientConfig, ClientConnection, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use std::{
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

/// TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The file of additional certificate authorities cannot be read.
    #[error("cannot read the certificate authorities in {path}: {reason}", path = path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The host is no name that a certificate could be issued for.
    #[error("the host {0:?} cannot be verified: it is neither a name nor an address")]
    Host(String),
    /// Any refusal of rustls: a certificate that does not verify, a protocol error.
    #[error("tls: {0}")]
    Protocol(#[from] rustls::Error),
}

/// How to speak TLS: the system's certificate authorities (the Mozilla set where the system has none), and those in
/// `extra`, a PEM file, if given.
///
/// # Errors
/// [`TlsError::Authorities`] when `extra` cannot be read or holds no certificate.
pub fn config(extra: Option<&Path>) -> Result<Arc<ClientConfig>, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if let Some(path) = extra {
        let unreadable = |reason: String| TlsError::Authorities { path: path.to_owned(), reason };
        let certificates = CertificateDer::pem_file_iter(path).map_err(|e| unreadable(e.to_string()))?;
        let mut added = 0_usize;
        for certificate in certificates {
            let certificate = certificate.map_err(|e| unreadable(e.to_string()))?;
            roots.add(certificate).map_err(|e| unreadable(e.to_string()))?;
            added += 1;
        }
        if added == 0 {
            return Err(unreadable("it holds no certificate".to_owned()));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
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
