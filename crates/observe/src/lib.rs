//! What a live deployment says of itself: HTTP and TLS client, metrics scraper, endpoints, Prometheus API, receiver of
//! spans, captures.
//!
//! Everything here is asynchronous and needs a tokio runtime with I/O and time; nothing is spawned, so that dropping a
//! future closes its socket; but the receiver of spans ([`otlp`]) is a thread of its own. Secrets go one way: request
//! headers leave this crate only towards the address that they were given for, and what comes back is redacted before it
//! is returned.
//!
//! # Example: who are you, and how do you do?
//! ```no_run
//! use firstcheck_observe::{Address, Headers, HttpClient, Scraper, Settings, Target, identify};
//! use firstcheck_model::moment::Moment;
//! # async fn example() -> Result<(), firstcheck_observe::Error> {
//! let base: Address = "http://127.0.0.1:8000".parse()?;
//! let headers = Headers::default().bearer("the key")?;
//! let client = HttpClient::new(&Settings::default())?;
//! let identity = identify(&client, &base, &headers).await?;
//! println!("{:?}", identity.fingerprint.get("engine_version"));
//!
//! let start = std::time::Instant::now();
//! let scraper = Scraper::new(client, vec![Target::metrics_of(&base, headers)]);
//! let scrapes = scraper.scrape(|t| Moment::at(t.duration_since(start).as_nanos() as i64)).await;
//! # Ok(())
//! # }
//! ```

mod address;
pub mod capture;
mod client;
mod error;
mod headers;
mod identity;
pub mod otlp;
pub mod prometheus;
mod scrape;
mod source;
pub mod tls;
mod watch;

pub use address::Address;
pub use client::{Answer, HttpClient, Settings};
pub use error::{Error, Result};
pub use firstcheck_ingest::fingerprint::redact;
pub use headers::Headers;
pub use identity::{Identity, RawPage, identify};
pub use scrape::{Scrape, Scraped, Scraper, Target, accumulate};
pub use source::{Source, recognise};
pub use watch::{Watch, watch};
