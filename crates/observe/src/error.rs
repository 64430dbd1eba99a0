//! Why a deployment cannot be asked.

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a deployment cannot be asked. Addresses in it carry no credentials, and header values never appear.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address that cannot be used.
    #[error("cannot use the address `{address}`: {why}")]
    Address {
        /// The address, without what looks like credentials.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// An address that cannot be listened on.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// An archive that cannot be written.
    #[error("cannot write the archive: {source}")]
    Archive {
        /// What the system said.
        source: io::Error,
    },
    /// A header that cannot be sent.
    #[error("cannot send the header `{name}`: {why}")]
    Header {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file of certificates that cannot be used.
    #[error("cannot use the certificates in {}: {why}", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No connection.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// The address.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// No secure connection.
    #[error("cannot speak TLS with {address}: {source}; a private authority is given as a PEM file")]
    Tls {
        /// The address.
        address: String,
        /// What rustls said.
        source: io::Error,
    },
    /// It took too long.
    #[error("{address} did not {what} within {} s", after.as_secs_f64())]
    Timeout {
        /// The address.
        address: String,
        /// What was awaited.
        what: &'static str,
        /// For how long.
        after: Duration,
    },
    /// Not an answer in HTTP, or a broken one.
    #[error("{address} did not answer in full: {source}")]
    Protocol {
        /// The address.
        address: String,
        /// What hyper said.
        source: hyper::Error,
    },
    /// An answer that is no success.
    #[error("{address} answered {status}{}{}", if detail.is_empty() { "" } else { ": " }, detail)]
    Status {
        /// The address.
        address: String,
        /// The status, 100 to 999.
        status: u16,
        /// Where it redirects to, or the beginning of the body.
        detail: String,
    },
    /// A longer answer than is read.
    #[error("{address} answers with more than {limit} bytes")]
    TooLarge {
        /// The address.
        address: String,
        /// The limit.
        limit: usize,
    },
    /// A compressed answer, which was not asked for.
    #[error("{address} answers in the encoding `{encoding}` although none was asked for")]
    Encoding {
        /// The address.
        address: String,
        /// The encoding.
        encoding: String,
    },
    /// An answer that is none of the Prometheus API.
    #[error("{address} answered with something that is no answer of the Prometheus API: {why}")]
    NotAnApi {
        /// The address.
        address: String,
        /// What was wrong with it.
        why: String,
    },
    /// An address behind which nothing known was found.
    #[error("{address} is neither a Prometheus API nor an engine nor a metrics page{}", because(tried))]
    NotASource {
        /// The address.
        address: String,
        /// What each question got.
        tried: Vec<String>,
    },
    /// A selector without series.
    #[error("{address} has no series for {selector} between {from} and {to}{jobs}")]
    NoSeries {
        /// The address.
        address: String,
        /// The selector.
        selector: String,
        /// Start of the span.
        from: String,
        /// End of the span.
        to: String,
        /// The jobs that it has, in words.
        jobs: String,
    },
    /// A selector whose series say nothing to us.
    #[error(
        "none of the {names} names of series for {selector} at {address} is one that firstcheck knows ({example} is one \
         of them){jobs}"
    )]
    NothingKnown {
        /// The address.
        address: String,
        /// The selector.
        selector: String,
        /// How many names it has.
        names: usize,
        /// One of them.
        example: String,
        /// The jobs that the server has, in words.
        jobs: String,
    },
    /// A text that selects nothing.
    #[error("cannot select by `{text}`: {why}")]
    Selector {
        /// As it was given.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// More than is fetched.
    #[error(
        "{address} has more than is fetched for {selector}: {what}; narrow the selector or the span, or take a longer step"
    )]
    TooMuch {
        /// The address.
        address: String,
        /// The selector.
        selector: String,
        /// How much of what.
        what: String,
    },
    /// A page that could not be scraped once.
    #[error("{address} could not be scraped: {why}")]
    NoScrape {
        /// The address.
        address: String,
        /// Why the last attempt failed.
        why: String,
    },
}

fn because(tried: &[String]) -> String {
    if tried.is_empty() { String::new() } else { format!(": {}", tried.join("; ")) }
}

impl Error {
    /// Whether a key was wanted, or another one.
    pub fn is_denied(&self) -> bool {
        matches!(self.status(), Some(401 | 403))
    }

    /// Whether nothing answered, so that there is no use in further questions.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Connect { .. } | Self::Tls { .. } | Self::Timeout { .. } | Self::Protocol { .. })
    }

    /// The status of an answer that is no success.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}
