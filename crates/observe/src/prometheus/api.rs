//! Single questions to the API, and what a server is told by.

use super::{
    selector::Selector,
    span::{Span, seconds},
};
use crate::{
    address::Address,
    client::HttpClient,
    error::{Error, Result},
    headers::Headers,
};
use bytes::Bytes;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, de::DeserializeOwned};

/// Jobs that an error lists.
const MOST_JOBS: usize = 20;

/// Series by which a job is an engine's.
const ENGINES: &str = "{__name__=~\"(vllm|sglang|trtllm|tgi|llamacpp|dynamo)[:_].+\"}";

/// A server that answers the Prometheus HTTP API.
#[derive(Debug, Clone)]
pub struct PrometheusApi {
    client: HttpClient,
    base: Address,
    headers: Headers,
    now_ms: i64,
}

/// The frame of an answer.
#[derive(Deserialize)]
struct Frame<T> {
    data: T,
}

/// A result of the expressions that we ask for: a scalar, or a vector of one.
#[derive(Deserialize)]
struct Evaluated {
    result: serde_json::Value,
}

impl Evaluated {
    /// Its number; `None` of an empty vector.
    fn number(&self) -> Option<f64> {
        let pair = self.result.get(0).and_then(|first| first.get("value")).unwrap_or(&self.result);
        pair.get(1)?.as_str()?.parse().ok()
    }
}

impl PrometheusApi {
    /// The API at `base`, with its path where it has one (`/prometheus`, `/select/0/prometheus`). Asks for the time.
    ///
    /// # Errors
    /// Those of a connection, and [`Error::NotAnApi`] of an answer that is none.
    pub async fn at(client: HttpClient, base: &Address, headers: Headers) -> Result<Self> {
        let mut api = Self { client, base: base.clone(), headers, now_ms: 0 };
        let now: Evaluated = api.ask("/api/v1/query", &[("query", "time()".into())]).await?;
        let seconds = now.number().filter(|seconds| (0.0..1e11).contains(seconds));
        let no_time = || api.not_an_api("/api/v1/query", "it tells no time");
        api.now_ms = seconds.map(|seconds| (seconds * 1e3).round() as i64).ok_or_else(no_time)?;
        Ok(api)
    }

    /// The same, asked with another client from now on: one with more patience, or that takes larger answers.
    pub fn asked_with(self, client: HttpClient) -> Self {
        Self { client, ..self }
    }

    /// The time by the server's clock when it was first asked, milliseconds of Unix time.
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.base
    }

    /// Names of the series that `selector` has within `span`.
    ///
    /// # Errors
    /// Those of a connection or an answer.
    pub async fn names(&self, selector: &Selector, span: Span) -> Result<Vec<String>> {
        let [from, to] = span.parameters();
        self.ask("/api/v1/label/__name__/values", &[("match[]", selector.to_string()), from, to]).await
    }

    /// The jobs that the server has, engines' first, in words; empty where it does not say.
    pub async fn jobs(&self, span: Span) -> String {
        let [from, to] = span.parameters();
        let engines = [("match[]", ENGINES.to_owned()), from.clone(), to.clone()];
        let engines: Vec<String> = self.ask("/api/v1/label/job/values", &engines).await.unwrap_or_default();
        let all: Vec<String> = self.ask("/api/v1/label/job/values", &[from, to]).await.unwrap_or_default();
        let others: Vec<String> = all.into_iter().filter(|job| !engines.contains(job)).collect();
        let list = |jobs: &[String]| {
            let more = jobs.len().saturating_sub(MOST_JOBS);
            let shown = jobs.iter().take(MOST_JOBS).cloned().collect::<Vec<_>>().join(", ");
            if more > 0 { format!("{shown} and {more} more") } else { shown }
        };
        match (engines.is_empty(), others.is_empty()) {
            (true, true) => String::new(),
            (true, false) => format!("; its jobs, none of them with an engine's series: {}", list(&others)),
            (false, true) => format!("; its jobs with an engine's series: {}", list(&engines)),
            (false, false) => {
                format!("; its jobs with an engine's series: {}; others: {}", list(&engines), list(&others))
            }
        }
    }

    /// How many series an expression has at a moment.
    pub(super) async fn count(&self, series: &str, at_ms: i64) -> Result<f64> {
        let asked = [("query", format!("count({series})")), ("time", seconds(at_ms))];
        let counted: Evaluated = self.ask("/api/v1/query", &asked).await?;
        Ok(counted.number().unwrap_or(0.0))
    }

    /// Raw samples of `series` within `span`.
    pub(super) async fn raw(&self, series: &str, span: Span) -> Result<Bytes> {
        let length = span.to_ms.saturating_sub(span.from_ms);
        let asked = [("query", format!("{series}[{length}ms]")), ("time", seconds(span.to_ms))];
        self.get("/api/v1/query", &asked).await
    }

    /// A sample of `series` every `step_ms` within `span`.
    pub(super) async fn steps(&self, series: &str, span: Span, step_ms: i64) -> Result<Bytes> {
        let [from, to] = span.parameters();
        self.get("/api/v1/query_range", &[("query", series.into()), from, to, ("step", seconds(step_ms))]).await
    }

    async fn ask<T: DeserializeOwned>(&self, path: &str, parameters: &[(&str, String)]) -> Result<T> {
        let body = self.get(path, parameters).await?;
        let frame: Frame<T> =
            serde_json::from_slice(&body).map_err(|error| self.not_an_api(path, &error.to_string()))?;
        Ok(frame.data)
    }

    async fn get(&self, path: &str, parameters: &[(&str, String)]) -> Result<Bytes> {
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let pairs: Vec<String> =
            parameters.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        let address = self.base.join(&format!("{path}?{}", pairs.join("&")));
        Ok(self.client.get(&address, &self.headers, "application/json").await?.body)
    }

    fn not_an_api(&self, path: &str, why: &str) -> Error {
        Error::NotAnApi { address: self.base.join(path).to_string(), why: why.into() }
    }
}
