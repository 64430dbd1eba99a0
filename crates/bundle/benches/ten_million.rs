//! Ten million events: journal, finish, open and fold. `cargo bench -p firstcheck-bundle`

use firstcheck_bundle::{Bundle, Rows, Writer};
use firstcheck_model::{
    event::Event,
    moment::Moment,
    request::{Fate, Request},
    run::{Arrivals, CacheState, Clock, ClockKind, Origin, RunId, RunInfo, WorkloadInfo},
};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use std::{error::Error, fs, path::Path, time::Instant};

const STREAMS: u32 = 512;
const SECONDS: u32 = 100;
const EVENTS_A_SECOND: u32 = 100_000;

fn info() -> RunInfo {
    let workload = WorkloadInfo {
        description: "512 streams of 5 ms tokens".into(),
        arrivals: Arrivals::Closed { concurrency: STREAMS },
        trace_hash: None,
        salt: None,
        streaming: Some(true),
        warm_up: None,
        cache: CacheState::Unknown,
    };
    let clock = Clock { started_unix_ns: None, kind: ClockKind::Virtual };
    RunInfo::new(RunId("bench".into()), "bench", Origin::Simulated, clock, workload)
}

/// One second of 512 streams whose gaps jitter by up to half a millisecond, every other event with a kernel time.
fn second(second: u32, random: &mut ChaCha8Rng) -> Vec<Event> {
    let event = |i: u32| {
        let jitter = i64::from(random.next_u32() % 500_000);
        let since_sent_ns = i64::from(second) * 1_000_000_000 + i64::from(i / STREAMS) * 5_120_000 + jitter;
        let kernel_ns = i.is_multiple_of(2).then(|| since_sent_ns - 20_000 - jitter / 50);
        Event { request: i % STREAMS, since_sent_ns, tokens: Some(1), kernel_ns }
    };
    (0..EVENTS_A_SECOND).map(event).collect()
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len()) / 1_000_000
}

fn main() -> Result<(), Box<dyn Error>> {
    let parent = tempfile::tempdir()?;
    let dir = parent.path().join("run");
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut writer = Writer::create(&dir, &info())?;
    let done = Request { sent: Moment::at(0), fate: Fate::Completed, ..Request::offered(Moment::at(0)) };
    let requests: Vec<_> = (0..STREAMS).map(|row| (row, done.clone())).collect();
    let (mut journal, mut longest) = (0.0, 0.0f64);
    for n in 0..SECONDS {
        let events = second(n, &mut random);
        let start = Instant::now();
        writer.append(Rows { requests: &requests, events: &events, ..Rows::default() })?;
        let took = start.elapsed().as_secs_f64();
        journal += took;
        longest = longest.max(took);
    }
    let megabytes = size(&dir.join("journal/events"));
    println!("journal: {journal:.2} s for {SECONDS} appends (longest {:.1} ms), {megabytes} MB", longest * 1e3);

    let start = Instant::now();
    let salvaged = Bundle::open(&dir)?;
    let opened = start.elapsed().as_secs_f64();
    let events = salvaged.evidence("journal")?.streams.map_or(0, |streams| streams.total_events);
    println!("salvage: open {opened:.2} s, with fold {:.2} s, {events} events", start.elapsed().as_secs_f64());

    let start = Instant::now();
    writer.finish(info())?;
    let took = start.elapsed().as_secs_f64();
    println!("finish: {took:.2} s, events.parquet {} MB", size(&dir.join("events.parquet")));

    let start = Instant::now();
    let bundle = Bundle::open(&dir)?;
    println!("open with hashes: {:.3} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let mut events = 0;
    bundle.for_each_event_batch(|batch| events += batch.len())?;
    println!("read: {:.2} s, {events} events", start.elapsed().as_secs_f64());
    let start = Instant::now();
    bundle.evidence("parquet")?;
    println!("read and fold: {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}
