//! The thread that scrapes while the run goes on, away from the event loops.

use crate::{
    clock::RunClock,
    record::journal::{Batch, Inlet},
};
use firstcheck_model::moment::Moment;
use firstcheck_observe::{Scrape, Scraper};
use std::{collections::BTreeMap, io, thread::JoinHandle, time::Duration};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// When to scrape, on the run's clock.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    /// Between two scrapes.
    pub interval: Duration,
    /// Moments that must be scraped whatever the interval says: the ends of the window, as far as they are known.
    pub marks_ns: Vec<i64>,
}

/// A running observer.
pub(crate) struct Observer {
    requests: UnboundedSender<()>,
    thread: JoinHandle<Notes>,
}

/// What could not be read: by page, how often and the last reason.
pub(crate) type Notes = BTreeMap<String, (u64, String)>;

impl Observer {
    /// Starts scraping.
    pub fn start(scraper: Scraper, clock: RunClock, times: Times, inlet: Inlet) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (requests, inbox) = unbounded_channel();
        let thread = std::thread::Builder::new().name("observer".into()).spawn(move || {
            let mut notes = Notes::new();
            runtime.block_on(observe(&scraper, clock, &times, inbox, &inlet, &mut notes));
            notes
        })?;
        Ok(Self { requests, thread })
    }

    /// Asks for a scrape now.
    pub fn scrape(&self) {
        // It listens until it is told to finish; if it panicked, joining it tells.
        self.requests.send(()).unwrap_or_default();
    }

    /// Scrapes a last time and gives what could not be read; `None` if the thread panicked.
    pub fn finish(self) -> Option<Notes> {
        self.scrape();
        drop(self.requests);
        self.thread.join().ok()
    }
}

async fn observe(
    scraper: &Scraper,
    clock: RunClock,
    times: &Times,
    mut requests: UnboundedReceiver<()>,
    inlet: &Inlet,
    notes: &mut Notes,
) {
    let mut marks: Vec<i64> = times.marks_ns.clone();
    marks.sort_unstable();
    let mut marks = marks.into_iter().peekable();
    let interval_ns = i64::try_from(times.interval.as_nanos()).unwrap_or(i64::MAX).max(1_000_000);
    let mut regular_ns = interval_ns;
    loop {
        let next_ns = marks.peek().map_or(regular_ns, |mark| regular_ns.min(*mark));
        let wait = Duration::from_nanos(u64::try_from(next_ns - clock.now_ns()).unwrap_or(0));
        let last = tokio::select! {
            () = tokio::time::sleep(wait) => false,
            request = requests.recv() => match request {
                Some(()) => requests.is_closed() && requests.is_empty(),
                None => return,
            },
        };
        take(scraper, clock, inlet, notes).await;
        if last {
            return;
        }
        let now_ns = clock.now_ns();
        while marks.next_if(|mark| *mark <= now_ns).is_some() {}
        while regular_ns <= now_ns {
            regular_ns = regular_ns.saturating_add(interval_ns);
        }
    }
}

async fn take(scraper: &Scraper, clock: RunClock, inlet: &Inlet, notes: &mut Notes) {
    let scrapes = scraper.scrape(|instant| clock.moment_of(instant)).await;
    hand_in(&scrapes, inlet, notes);
}

/// Hands in what was scraped and notes what could not be.
pub(crate) fn hand_in(scrapes: &[Scrape], inlet: &Inlet, notes: &mut Notes) {
    for scrape in scrapes {
        if let Err(error) = &scrape.outcome {
            note(notes, &scrape.page, error.to_string());
        } else if let Ok(scraped) = &scrape.outcome
            && let Some(unread) = scraped.metrics.unread.first()
        {
            let count = scraped.metrics.unread_total;
            note(notes, &scrape.page, format!("{count} lines unread, the first at {}: {}", unread.line, unread.reason));
        }
    }
    let signals = firstcheck_observe::accumulate(scrapes);
    inlet.send(Batch { signals, ..Batch::default() });
}

fn note(notes: &mut Notes, page: &str, reason: String) {
    let entry = notes.entry(page.to_owned()).or_default();
    entry.0 += 1;
    entry.1 = reason;
}

/// Moves a scrape that was taken before the run's clock was set onto it.
pub(crate) fn moved(mut scrape: Scrape, by_ns: i64) -> Scrape {
    scrape.at = scrape.at.get().map_or(Moment::NEVER, |ns| Moment::at(ns - by_ns));
    scrape
}
