//! Metrics pages, scraped with the moment they speak of.

use crate::{
    address::Address,
    client::{Answer, HttpClient},
    error::Result,
    headers::Headers,
};
use bytes::Bytes;
use firstcheck_ingest::prometheus::{self, Page, SeriesSet};
use firstcheck_model::{
    moment::Moment,
    signal::{Labels, Part, Series, SeriesKind},
    unit::Seconds,
};
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
    time::Instant,
};

/// What Prometheus itself asks for, the text format first.
pub(crate) const ACCEPT: &str = "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0;q=0.7,*/*;q=0.1";

/// The page of a deployment's own metrics.
const MAIN: &str = "main";

/// A page to scrape.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name in the series: `main` for the deployment's own, else as the user calls it.
    pub page: String,
    /// Where it is.
    pub address: Address,
    /// Headers for this address alone.
    pub headers: Headers,
}

impl Target {
    /// The deployment's own page: `/metrics` at the root of `base`.
    pub fn metrics_of(base: &Address, headers: Headers) -> Self {
        Self { page: MAIN.into(), address: base.root().join("/metrics"), headers }
    }
}

/// Scrapes the pages of a run.
#[derive(Debug, Clone)]
pub struct Scraper {
    client: HttpClient,
    targets: Vec<Target>,
}

/// One page scraped once, or not.
#[derive(Debug)]
pub struct Scrape {
    /// Name of the page.
    pub page: String,
    /// The moment it speaks of: midway between request and first byte of the answer (known to half of that wait). Of a
    /// scrape that failed, when it began.
    pub at: Moment,
    /// How long it took, connection included.
    pub taken: Seconds,
    /// What it gave.
    pub outcome: Result<Scraped>,
}

/// A scraped page.
#[derive(Debug)]
pub struct Scraped {
    /// As it came.
    pub bytes: Bytes,
    /// As it reads.
    pub metrics: Page,
}

impl Scraper {
    /// A scraper of `targets`.
    pub fn new(client: HttpClient, targets: Vec<Target>) -> Self {
        Self { client, targets }
    }

    /// Scrapes all pages at once: one result a page, in the order of the targets. `moment` puts an instant on the run's
    /// clock.
    pub async fn scrape(&self, moment: impl Fn(Instant) -> Moment + Sync) -> Vec<Scrape> {
        let moment = &moment;
        let one = |target| -> Running<'_, Scrape> { Box::pin(self.one(target, moment)) };
        all(self.targets.iter().map(one).collect()).await
    }

    async fn one(&self, target: &Target, moment: &(impl Fn(Instant) -> Moment + Sync)) -> Scrape {
        let began = Instant::now();
        let answer = self.client.get(&target.address, &target.headers, ACCEPT).await;
        let taken = Seconds(began.elapsed().as_secs_f64());
        let at = answer.as_ref().map_or(began, midway);
        let outcome = answer.map(|Answer { body, .. }| Scraped { metrics: prometheus::parse(&body), bytes: body });
        Scrape { page: target.page.clone(), at: moment(at), taken, outcome }
    }
}

/// The page at `address`; one without samples where it is none.
pub(crate) async fn page_at(client: &HttpClient, address: &Address, headers: &Headers) -> Result<Page> {
    Ok(prometheus::parse(&client.get(address, headers, ACCEPT).await?.body))
}

fn midway(answer: &Answer) -> Instant {
    answer.sent + answer.head.saturating_duration_since(answer.sent) / 2
}

pub(crate) type Running<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Waits for all futures, in the same task.
pub(crate) async fn all<T>(futures: Vec<Running<'_, T>>) -> Vec<T> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| (Some(future), None)).collect();
    poll_fn(move |context| {
        let mut waiting = false;
        for (future, result) in &mut futures {
            let Some(running) = future else { continue };
            match running.as_mut().poll(context) {
                Poll::Ready(value) => (*future, *result) = (None, Some(value)),
                Poll::Pending => waiting = true,
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(futures.iter_mut().filter_map(|(_, r)| r.take()).collect()) }
    })
    .await
}

impl Scrape {
    /// Its samples as series of one sample each, with `up` (1 when it succeeded, else 0) and `scrape_duration_seconds`
    /// beside them, named as Prometheus names them.
    pub fn series(&self) -> Vec<Series> {
        accumulate([self])
    }

    fn own(&self, name: &str, value: f64) -> Series {
        Series {
            name: name.into(),
            labels: Labels::default(),
            page: self.page.clone(),
            kind: SeriesKind::Gauge,
            part: Part::Value,
            signal: None,
            at: vec![self.at],
            value: vec![value],
        }
    }
}

/// The series of several scrapes, merged by page, name, labels and part, with their meanings where the vocabulary knows
/// them; `up` and `scrape_duration_seconds` of each page come last.
pub fn accumulate<'a>(scrapes: impl IntoIterator<Item = &'a Scrape>) -> Vec<Series> {
    let mut set = SeriesSet::default();
    let mut own: Vec<Series> = Vec::new();
    for scrape in scrapes {
        if let Ok(scraped) = &scrape.outcome {
            set.add(&scraped.metrics, &scrape.page, scrape.at);
        }
        let up = f64::from(u8::from(scrape.outcome.is_ok()));
        for sample in [scrape.own("up", up), scrape.own("scrape_duration_seconds", scrape.taken.0)] {
            match own.iter_mut().find(|series| series.page == sample.page && series.name == sample.name) {
                Some(series) => {
                    series.at.extend(sample.at);
                    series.value.extend(sample.value);
                }
                None => own.push(sample),
            }
        }
    }
    let mut series = set.finish();
    series.append(&mut own);
    series
}
