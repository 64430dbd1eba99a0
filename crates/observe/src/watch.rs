//! A deployment watched for a while: its metrics pages, one after the other, with their times.

use crate::{
    address::Address,
    client::HttpClient,
    error::{Error, Result},
    headers::Headers,
    scrape::{Scraper, Target},
};
use firstcheck_ingest::Fetched;
use firstcheck_model::moment::Moment;
use std::{
    path::PathBuf,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::time::{Instant as Tick, MissedTickBehavior, interval_at};

/// How long a page is watched, and how closely.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    /// From the first scrape to the last.
    pub window: Duration,
    /// Between two scrapes; of a long window they lie further apart, so that there are no more than [`Watch::MOST`].
    pub interval: Duration,
    /// Bytes of all pages at most; from there on none is scraped any more.
    pub bytes: usize,
}

impl Watch {
    /// Scrapes of one window.
    pub const MOST: u32 = 600;

    /// A scrape a second over `window`, up to 256 MiB.
    pub fn over(window: Duration) -> Self {
        Self { window, interval: Duration::from_secs(1).max(window / Self::MOST), bytes: 256 << 20 }
    }
}

/// Scrapes the page at `address` over a window: both its ends, and every interval between them. What comes back reads
/// like a file of pages with a time in front of each.
///
/// # Errors
/// [`Error::NoScrape`] where not a single scrape succeeded.
pub async fn watch(client: &HttpClient, address: &Address, headers: &Headers, how: Watch) -> Result<Fetched> {
    let target = Target { page: "main".into(), address: address.clone(), headers: headers.clone() };
    let scraper = Scraper::new(client.clone(), vec![target]);
    let (began, began_unix) = (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
    let unix_ns = |at: Instant| {
        let unix = began_unix.saturating_add(at.saturating_duration_since(began));
        Moment::at(i64::try_from(unix.as_nanos()).unwrap_or(i64::MAX))
    };
    let mut pages = Pages::default();
    let mut ticks = interval_at(Tick::now(), how.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let end = Tick::now() + how.window;
    loop {
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(end) => break,
            _ = ticks.tick() => pages.take(&scraper, unix_ns).await,
        }
        if pages.bytes.len() >= how.bytes {
            pages.full = true;
            break;
        }
    }
    if !pages.full {
        pages.take(&scraper, unix_ns).await;
    }
    pages.fetched(address, how)
}

/// The pages so far.
#[derive(Default)]
struct Pages {
    bytes: Vec<u8>,
    scrapes: u32,
    failed: u32,
    why: String,
    full: bool,
}

impl Pages {
    async fn take(&mut self, scraper: &Scraper, unix_ns: impl Fn(Instant) -> Moment + Sync) {
        for scrape in scraper.scrape(unix_ns).await {
            self.scrapes += 1;
            match (scrape.outcome, scrape.at.get()) {
                (Ok(scraped), Some(at)) => {
                    self.bytes.extend_from_slice(format!("# {at}\n").as_bytes());
                    self.bytes.extend_from_slice(&scraped.bytes);
                    if !self.bytes.ends_with(b"\n") {
                        self.bytes.push(b'\n');
                    }
                }
                (Err(error), _) => {
                    self.failed += 1;
                    self.why = error.to_string();
                }
                (Ok(_), None) => self.failed += 1,
            }
        }
    }

    fn fetched(self, address: &Address, how: Watch) -> Result<Fetched> {
        if self.failed == self.scrapes {
            return Err(Error::NoScrape { address: address.to_string(), why: self.why });
        }
        let mut notes = vec![format!(
            "scraped {} times over {} s",
            self.scrapes - self.failed,
            (how.window.as_secs_f64() * 10.0).round() / 10.0
        )];
        if self.failed > 0 {
            notes.push(format!("{} of {} scrapes failed, the last: {}", self.failed, self.scrapes, self.why));
        }
        if self.full {
            notes.push(format!("stopped at {} MiB of pages, before the window's end", how.bytes >> 20));
        }
        let source = PathBuf::from(address.parent("/metrics").unwrap_or_else(|| address.clone()).to_string());
        Ok(Fetched { name: address.to_string(), source, bytes: self.bytes, notes, passed_over: Vec::new() })
    }
}
