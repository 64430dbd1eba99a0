//! Whom to trust.

use crate::error::{Error, Result};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::{path::Path, sync::Arc};

/// A TLS client that verifies certificates against the system's authorities (Mozilla's where the system has none) and
/// those in the PEM file `extra_ca`.
///
/// # Errors
/// [`Error::Certificates`] when `extra_ca` cannot be read or holds no certificate.
pub fn client_config(extra_ca: Option<&Path>) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if let Some(path) = extra_ca {
        add_file(&mut roots, path).map_err(|why| Error::Certificates { path: path.into(), why })?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    // ring offers both versions of TLS, so this cannot be refused; if it were, the message is the caller's to see.
    let builder = builder.map_err(|error| Error::Certificates { path: "the system".into(), why: error.to_string() })?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> std::result::Result<(), String> {
    let mut found = 0;
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())? {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
        found += 1;
    }
    if found == 0 { Err("it holds no PEM certificate".into()) } else { Ok(()) }
}
