//! Series that a Prometheus has of the deployment: what led up to the incident.

use super::{Limits, Plan, Taken, secrets};
use crate::{
    address::Address,
    client::{HttpClient, Settings},
    error::Result,
    headers::Headers,
    prometheus::{Ask, Bounds, PrometheusApi, Selector, Span},
};
use std::time::Duration;

/// Which series of which server.
#[derive(Debug, Clone)]
pub struct Series {
    /// The API's address.
    pub base: Address,
    /// Headers for it; they are sent and stand nowhere in what is captured.
    pub headers: Headers,
    /// Whose series.
    pub select: Vec<Selector>,
    /// How far back from now, by the server's clock.
    pub since: Duration,
}

/// The answers as the server gave them, one after the other.
pub(super) async fn answers(plan: &Plan, series: &Series) -> Taken {
    match asked(plan, series).await {
        Ok(taken) => taken,
        Err(error) => Taken::missing(error.to_string()),
    }
}

async fn asked(plan: &Plan, series: &Series) -> Result<Taken> {
    let Limits { answer, series_bytes, .. } = plan.limits;
    let settings =
        Settings { total: answer, body_limit: series_bytes, extra_ca: plan.extra_ca.clone(), ..Settings::default() };
    let api = PrometheusApi::at(HttpClient::new(&settings)?, &series.base, series.headers.clone()).await?;
    let to_ms = api.now_ms();
    let back_ms = i64::try_from(series.since.as_millis()).unwrap_or(i64::MAX);
    let ask = Ask {
        select: series.select.clone(),
        span: Span { from_ms: to_ms.saturating_sub(back_ms), to_ms },
        step: None,
        bounds: Bounds { bytes: series_bytes, ..Bounds::default() },
    };
    let mut taken = Taken::default();
    let answers = api.fetch(&ask).await?.fetched.bytes;
    taken.file("series.json", secrets::answers(&String::from_utf8_lossy(&answers)));
    Ok(taken)
}
