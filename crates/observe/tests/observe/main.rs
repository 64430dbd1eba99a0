//! The client, the scraper and the identity of a deployment, against servers on loopback.
#![expect(clippy::unwrap_used, reason = "what fails in a test's own preparation fails the test")]

mod address;
mod capture;
mod client;
mod identity;
mod otlp;
mod prometheus;
mod redact;
mod scrape;
mod server;
mod source;
mod tls;
mod watch;
