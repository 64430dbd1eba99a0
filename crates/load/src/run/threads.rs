//! The threads of a run: shards, journal, observer; started together, watched, and joined.

use crate::{
    clock::RunClock,
    error::Error,
    event_loop::{self, Ended},
    observer::{self, Notes, Observer, Times},
    options::Options,
    progress::{Control, Phase, Progress},
    record::journal::{Batch, Journal},
    run::observation::Observation,
    shard::Common,
    watch_self::Watch,
};
use firstcheck_model::{
    moment::{Moment, Window},
    run::{Clock, ClockKind, RunInfo},
    unit::Seconds,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::Duration,
};
use tokio::runtime::Runtime;

/// Between the moment at which everything is ready and moment 0 of the run.
const LEAD_NS: i64 = 20_000_000;
/// Between two looks at how far the run is.
const LOOK: Duration = Duration::from_millis(100);

/// When the window begins.
pub(super) fn window_start(options: &Options) -> Moment {
    Moment::at(nanoseconds(options.warm_up))
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// What the threads of a run leave behind.
#[derive(Default)]
pub(super) struct Driven {
    pub watch: Watch,
    pub failures: BTreeMap<String, u64>,
    /// When the last request had been offered, nanoseconds on the run's clock.
    pub offered_ns: i64,
    pub notes: Notes,
}

/// One shard as the run holds it.
struct Started {
    start: Sender<RunClock>,
    thread: JoinHandle<std::io::Result<Option<Ended>>>,
}

/// Runs all threads but the journal's to their end.
pub(super) fn drive(
    common: &Arc<Common>,
    journal: &Journal,
    observation: &Observation,
    runtime: &Runtime,
    control: &Control,
    info: &RunInfo,
) -> Result<(Driven, Clock), Error> {
    let (ready, readies) = channel();
    let (alive, lives) = channel();
    let mut shards = Vec::new();
    for number in 0..common.options.shards.max(1) {
        shards.push(start_shard(common, journal, number, ready.clone(), alive.clone())?);
    }
    drop((ready, alive));
    // A shard that could not start drops its end; joining it tells why.
    readies.iter().for_each(drop);

    let mut driven = Driven::default();
    let clock = scrape_before(observation, journal, runtime, &mut driven.notes);
    let started = Clock { started_unix_ns: Some(clock.origin_unix_ns()), kind: ClockKind::Real };
    let planned = planned(info, common, started);
    journal.inlet().send(Batch { info: Some(Box::new(planned)), ..Batch::default() });
    let observer = match &observation.scraper {
        Some(scraper) => Some(Observer::start(scraper.clone(), clock, times(common), journal.inlet())?),
        None => None,
    };
    let mut threads = Vec::with_capacity(shards.len());
    for Started { start, thread } in shards {
        // One that is gone already is found when it is joined.
        start.send(clock).unwrap_or_default();
        threads.push(thread);
    }
    look_on(common, clock, observer.as_ref(), &lives, control);
    for thread in threads {
        let Some(ended) = thread.join().map_err(|_| Error::Panicked { thread: "shard" })?? else { continue };
        driven.watch.merge(&ended.watch);
        driven.offered_ns = driven.offered_ns.max(ended.offered_ns);
        for (name, times) in ended.failures {
            *driven.failures.entry(name).or_default() += times;
        }
    }
    if let Some(observer) = observer {
        let later = observer.finish().ok_or(Error::Panicked { thread: "observer" })?;
        for (page, (times, why)) in later {
            let (before, _) = driven.notes.remove(&page).unwrap_or_default();
            driven.notes.insert(page, (before + times, why));
        }
    }
    Ok((driven, started))
}

/// Starts one shard. It says on `ready` that its connections are up, and holds `alive` until it ends.
fn start_shard(
    common: &Arc<Common>,
    journal: &Journal,
    number: usize,
    ready: Sender<()>,
    alive: Sender<()>,
) -> Result<Started, Error> {
    let (start, started) = channel();
    let (common, inlet) = (Arc::clone(common), journal.inlet());
    let thread = std::thread::Builder::new().name(format!("shard {number}")).spawn(move || {
        let stop = common.stop.clone();
        let ended = event_loop::run(common, number, inlet, ready, &started);
        if let Err(error) = &ended {
            // The others must not go on for nothing.
            stop.interrupt(&format!("an event loop failed: {error}"));
        }
        drop(alive);
        ended
    })?;
    Ok(Started { start, thread })
}

/// Scrapes once before the first request, and then sets the run's clock.
fn scrape_before(observation: &Observation, journal: &Journal, runtime: &Runtime, notes: &mut Notes) -> RunClock {
    let before = RunClock::starting_in(0);
    let Some(scraper) = &observation.scraper else { return before.moved(before.now_ns() + LEAD_NS) };
    let scrapes = runtime.block_on(scraper.scrape(|instant| before.moment_of(instant)));
    let start_ns = before.now_ns() + LEAD_NS;
    let scrapes: Vec<_> = scrapes.into_iter().map(|scrape| observer::moved(scrape, start_ns)).collect();
    observer::hand_in(&scrapes, &journal.inlet(), notes);
    before.moved(start_ns)
}

/// The description of a run whose clock has just been set, with the window that is planned.
fn planned(info: &RunInfo, common: &Common, clock: Clock) -> RunInfo {
    let start = window_start(&common.options);
    let length = common.options.duration.map(nanoseconds);
    let end = length.map(|ns| start.plus_ns(ns)).or_else(|| Some(common.plan.last_due()?.plus_ns(1)));
    RunInfo { clock, window: end.map(|end| Window { start, end }), ..info.clone() }
}

/// When to scrape whatever the interval says: at the ends of the window, as far as the clock decides them.
fn times(common: &Common) -> Times {
    let options = &common.options;
    let warm_up_ns = nanoseconds(options.warm_up);
    let end_ns = options.duration.map(|duration| warm_up_ns.saturating_add(nanoseconds(duration)));
    let last_ns = common.plan.last_due().and_then(|due| due.get());
    let start = Some(warm_up_ns).filter(|ns| *ns > 0);
    let marks_ns = start.into_iter().chain(end_ns.into_iter().chain(last_ns).min()).collect();
    Times { interval: options.scrape.interval, marks_ns }
}

/// Looks on until all shards have ended: tells the progress, and has the end of the offering scraped.
fn look_on(common: &Common, clock: RunClock, observer: Option<&Observer>, lives: &Receiver<()>, control: &Control) {
    let shards = common.options.shards.max(1) as u64;
    let mut drained = false;
    loop {
        if matches!(lives.recv_timeout(LOOK), Err(RecvTimeoutError::Disconnected)) {
            break;
        }
        if !drained && common.counters.drained.load(Ordering::Relaxed) >= shards {
            drained = true;
            observer.iter().for_each(|observer| observer.scrape());
        }
        control.tell(&progress(common, clock, drained));
    }
    control.tell(&progress(common, clock, true));
}

fn progress(common: &Common, clock: RunClock, drained: bool) -> Progress {
    let counters = &common.counters;
    let now_ns = clock.now_ns();
    let options = &common.options;
    let warm = now_ns >= nanoseconds(options.warm_up);
    let length_ns = options.duration.map(|length| nanoseconds(options.warm_up).saturating_add(nanoseconds(length)));
    let [ttft, itl] = counters.answers.means();
    Progress {
        at: Moment::at(now_ns),
        until: length_ns.map(Moment::at).or_else(|| common.plan.last_due()),
        phase: match (drained, warm) {
            (true, _) => Phase::Drain,
            (false, true) => Phase::Window,
            (false, false) => Phase::WarmUp,
        },
        planned: common.trace.len() as u64,
        sent: counters.sent.load(Ordering::Relaxed),
        done: counters.done.load(Ordering::Relaxed),
        failed: counters.failed.load(Ordering::Relaxed),
        events: counters.events.load(Ordering::Relaxed),
        ttft,
        itl,
        stall: Seconds(counters.stall_ns.load(Ordering::Relaxed) as f64 * 1e-9),
    }
}
