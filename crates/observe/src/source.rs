//! What stands behind an address: a Prometheus API, an engine, a metrics page.

use crate::{
    address::Address,
    client::HttpClient,
    error::{Error, Result},
    headers::Headers,
    identity::{Identity, identify},
    prometheus::PrometheusApi,
    scrape::page_at,
};
use firstcheck_ingest::vocabulary;

/// Paths under which servers of several tenants or stores have the API.
const PREFIXES: [&str; 2] = ["/prometheus", "/select/0/prometheus"];

/// A live source, told by what it answers.
#[derive(Debug)]
pub enum Source {
    /// A server of the Prometheus API.
    Prometheus(Box<PrometheusApi>),
    /// An engine, with what it says of itself.
    Engine(Identity),
    /// A metrics page that is no engine's: an exporter's.
    Page,
}

/// Asks `address` what it is. An engine has a metrics page as well as a Prometheus has, so the API is asked for first.
///
/// # Errors
/// Those of a connection, a refusal for want of a key, [`Error::NotASource`] where nothing known answers.
pub async fn recognise(client: &HttpClient, address: &Address, headers: &Headers) -> Result<Source> {
    let (mut tried, mut denied) = (Vec::new(), None);
    let mut failed = |error: Error| {
        if error.is_denied() && denied.is_none() {
            denied = Some(error);
        } else {
            tried.push(error.to_string());
        }
    };
    match PrometheusApi::at(client.clone(), address, headers.clone()).await {
        Ok(api) => return Ok(Source::Prometheus(Box::new(api))),
        Err(error) if error.is_unreachable() => return Err(error),
        Err(error) => failed(error),
    }
    match page_at(client, address, headers).await {
        Ok(page) if page.samples.iter().any(|sample| vocabulary::engine_of(&sample.name).is_some()) => {
            return Ok(Source::Engine(identify(client, &engine_of(address), headers).await?));
        }
        Ok(page) if !page.samples.is_empty() => return Ok(Source::Page),
        Ok(_) => {}
        Err(error) => failed(error),
    }
    match identify(client, address, headers).await {
        Ok(identity) if !identity.fingerprint.is_empty() => return Ok(Source::Engine(identity)),
        Ok(_) => {}
        Err(error) => failed(error),
    }
    for prefix in PREFIXES {
        let below = address.join(prefix);
        if let Ok(api) = PrometheusApi::at(client.clone(), &below, headers.clone()).await {
            return Ok(Source::Prometheus(Box::new(api)));
        }
    }
    Err(denied.unwrap_or_else(|| Error::NotASource { address: address.to_string(), tried }))
}

/// The engine whose metrics page is at `page`.
fn engine_of(page: &Address) -> Address {
    page.parent("/metrics").unwrap_or_else(|| page.root())
}
