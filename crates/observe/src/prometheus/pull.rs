//! The series of a span, in as many requests as it takes, within bounds.

use super::{
    api::PrometheusApi,
    selector::{Selector, batches},
    span::{Span, time},
};
use crate::error::{Error, Result};
use bytes::Bytes;
use firstcheck_ingest::{Fetched, vocabulary};
use std::time::Duration;

/// Points a series that a server gives in one answer: Prometheus' own limit is 11,000.
const MOST_POINTS: i64 = 10_000;

/// What every series of an answer begins with.
const SERIES: &[u8] = b"\"metric\"";
/// Bytes of an answer within which its first series begins.
const START: usize = 4 << 10;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Which series: those of any of these.
    pub select: Vec<Selector>,
    /// Of when.
    pub span: Span,
    /// A sample every so often; `None`: raw samples, where the server gives them.
    pub step: Option<Duration>,
    /// How much at most.
    pub bounds: Bounds,
}

/// How much is fetched at most.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Series.
    pub series: u64,
    /// Bytes of all answers.
    pub bytes: usize,
    /// The shortest part of a span that is asked for by itself, milliseconds: what is too much then is refused.
    pub part_ms: i64,
    /// Between samples where a server gives no raw ones and no step was asked for.
    pub step: Duration,
}

impl Default for Bounds {
    /// 50,000 series, 256 MiB, parts down to 30 s, a sample every 15 s.
    fn default() -> Self {
        Self { series: 50_000, bytes: 256 << 20, part_ms: 30_000, step: Duration::from_secs(15) }
    }
}

/// How samples were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// As they were scraped, with their own times.
    Raw,
    /// One a step: the newest of the five minutes before it.
    Steps(Duration),
}

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Answers {
    /// The answers, to be read as a file would be.
    pub fetched: Fetched,
    /// How their samples were taken.
    pub way: Way,
}

impl PrometheusApi {
    /// Everything of `ask` that the vocabulary knows.
    ///
    /// # Errors
    /// Those of a connection; [`Error::NoSeries`] and [`Error::NothingKnown`] of a selector without any;
    /// [`Error::TooMuch`] beyond the bounds.
    pub async fn fetch(&self, ask: &Ask) -> Result<Answers> {
        let mut pull = Pull {
            api: self,
            ask,
            way: ask.step.map(Way::Steps),
            bytes: Vec::new(),
            any: false,
            series: 0.0,
            requests: 0,
        };
        let mut passed_over = Vec::new();
        for selector in &ask.select {
            let names = self.names(selector, ask.span).await?;
            let of = names.len();
            let (known, unknown): (Vec<String>, Vec<String>) =
                names.into_iter().partition(|name| vocabulary::is_worth_asking(name));
            if known.is_empty() {
                return Err(self.nothing(selector, ask.span, of, unknown).await);
            }
            passed_over.extend(unknown);
            for batch in batches(&known) {
                pull.batch(selector, &batch).await?;
            }
            if !std::mem::take(&mut pull.any) {
                // A server may know names by the day; samples it knows by their times.
                return Err(self.nothing(selector, ask.span, of, Vec::new()).await);
            }
        }
        passed_over.sort_unstable();
        passed_over.dedup();
        let way = pull.way.unwrap_or(Way::Raw);
        let notes = vec![pull.said(way)];
        let address = self.address().to_string();
        let (address, from) = (address.trim_end_matches('/'), time(ask.span.from_ms));
        let name = format!("{address} {} from {from}", words(&ask.select));
        let fetched = Fetched { source: name.clone().into(), name, bytes: pull.bytes, notes, passed_over };
        Ok(Answers { fetched, way })
    }

    async fn nothing(&self, selector: &Selector, span: Span, names: usize, unknown: Vec<String>) -> Error {
        let (address, selector) = (self.address().to_string(), selector.to_string());
        let jobs = self.jobs(span).await;
        match unknown.into_iter().next() {
            None => {
                let (from, to) = (time(span.from_ms), time(span.to_ms));
                Error::NoSeries { address, selector, from, to, jobs }
            }
            Some(example) => Error::NothingKnown { address, selector, names, example, jobs },
        }
    }
}

fn words(select: &[Selector]) -> String {
    select.iter().map(Selector::to_string).collect::<Vec<_>>().join(" ")
}

/// The answers so far.
struct Pull<'a> {
    api: &'a PrometheusApi,
    ask: &'a Ask,
    /// Known once the server has given some.
    way: Option<Way>,
    bytes: Vec<u8>,
    /// Whether any series of the selector at hand came.
    any: bool,
    series: f64,
    requests: u64,
}

impl Pull<'_> {
    /// Asks for the series of one batch of names, part by part.
    async fn batch(&mut self, selector: &Selector, names: &str) -> Result<()> {
        let (series, mut rest) = (selector.named(names), self.ask.span);
        self.series += self.api.count(&series, rest.to_ms).await?;
        if self.series > self.ask.bounds.series as f64 {
            return Err(
                self.too_much(selector, format!("{} series, more than {}", self.series, self.ask.bounds.series))
            );
        }
        let way = self.way(&series).await?;
        let mut part_ms = match way {
            Way::Raw => i64::MAX,
            Way::Steps(step) => milliseconds(step).saturating_mul(MOST_POINTS),
        };
        while let Some(left) = rest.length_ms() {
            part_ms = part_ms.min(left);
            let part = rest.first(part_ms);
            match self.part(&series, part, way).await {
                Ok(answer) => {
                    self.keep(selector, &answer)?;
                    rest.from_ms = part.to_ms;
                }
                Err(error) if is_too_much(&error) && part_ms / 2 >= self.ask.bounds.part_ms => part_ms /= 2,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Which way the server gives samples, tried on the last moments of the span, which are too little for any limit.
    async fn way(&mut self, series: &str) -> Result<Way> {
        if let Some(way) = self.way {
            return Ok(way);
        }
        let Ask { span, bounds, .. } = self.ask;
        let last = Span { from_ms: span.from_ms.max(span.to_ms.saturating_sub(bounds.part_ms)), to_ms: span.to_ms };
        self.requests += 1;
        let way = match self.api.raw(series, last).await {
            Ok(_) => Way::Raw,
            Err(refused) if matches!(refused.status(), Some(400 | 404 | 405 | 422 | 501)) => {
                self.requests += 1;
                // Where this fails as well, what was asked for first says more.
                if self.api.steps(series, last, milliseconds(bounds.step)).await.is_err() {
                    return Err(refused);
                }
                Way::Steps(bounds.step)
            }
            Err(error) => return Err(error),
        };
        self.way = Some(way);
        Ok(way)
    }

    async fn part(&mut self, series: &str, part: Span, way: Way) -> Result<Bytes> {
        self.requests += 1;
        match way {
            Way::Raw => self.api.raw(series, part).await,
            Way::Steps(step) => self.api.steps(series, part, milliseconds(step)).await,
        }
    }

    fn keep(&mut self, selector: &Selector, answer: &[u8]) -> Result<()> {
        if self.bytes.len() + answer.len() > self.ask.bounds.bytes {
            let mib = self.ask.bounds.bytes >> 20;
            return Err(self.too_much(selector, format!("more than {mib} MiB of answers")));
        }
        // The first series stands at the beginning of an answer.
        let start = answer.get(..START).unwrap_or(answer);
        self.any |= start.windows(SERIES.len()).any(|bytes| bytes == SERIES);
        self.bytes.extend_from_slice(answer);
        self.bytes.push(b'\n');
        Ok(())
    }

    fn too_much(&self, selector: &Selector, what: String) -> Error {
        Error::TooMuch { address: self.api.address().to_string(), selector: selector.to_string(), what }
    }

    fn said(&self, way: Way) -> String {
        let requests = self.requests;
        match way {
            Way::Raw => format!("raw samples with the times of their scrapes, in {requests} requests"),
            Way::Steps(step) => format!(
                "one sample every {} s by query_range, each the newest of the five minutes before it, in {requests} \
                 requests",
                step.as_secs_f64()
            ),
        }
    }
}

fn milliseconds(step: Duration) -> i64 {
    i64::try_from(step.as_millis()).unwrap_or(i64::MAX).max(1)
}

/// Whether half of the span may do.
fn is_too_much(error: &Error) -> bool {
    matches!(error, Error::TooLarge { .. } | Error::Timeout { .. })
        || matches!(error.status(), Some(413 | 422 | 503 | 504))
}
