//! The client itself, through its public interface: every event recorded, the journal written, the bundle finished.

use crate::cpu::{self, Figures};
use firstcheck_bundle::Bundle;
use firstcheck_load::{Control, Options, Scrape, Target, run};
use firstcheck_model::run::{Arrivals, RunId};
use firstcheck_workload::{
    prompt::{Piece, Prompt},
    trace::{Due, Offered, Trace},
};
use std::{
    error::Error,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// How the client is driven.
pub struct Task {
    pub port: u16,
    pub streams: usize,
    pub tokens: u32,
    pub requests: usize,
    pub warm_up: Duration,
    pub window: Duration,
}

/// Time over which the streams of the closed loop start, so that they are spread over the period of one answer.
pub const RAMP: Duration = Duration::from_millis(1320);

/// What the process had used when the window began, and when it ended.
#[derive(Default)]
struct Edges {
    start: Option<(Instant, Duration)>,
    end: Option<(Instant, Duration)>,
}

/// Offers a closed loop of `task.streams` and measures inside the window.
pub fn run_client(task: &Task) -> Result<Figures, Box<dyn Error>> {
    let offered = Offered {
        due: Due::WhenFree,
        prompt: Prompt::user(vec![Piece::Text("x".into())]),
        output_tokens: Some(task.tokens),
        session: None,
    };
    let trace = Arc::new(Trace {
        description: "bench".into(),
        arrivals: Arrivals::Closed { concurrency: task.streams as u32 },
        items: vec![offered; task.requests],
        salt: None,
    });
    let mut target = Target::new(format!("http://127.0.0.1:{}", task.port).parse()?);
    target.model = Some("bench".into());
    let mut options = Options::new(RunId("bench".into()));
    options.warm_up = task.warm_up;
    options.duration = Some(task.window);
    options.ramp = RAMP;
    options.drain = Duration::from_secs(2);
    options.scrape = Scrape { metrics: false, ..Scrape::default() };
    let edges = Arc::new(Mutex::new(Edges::default()));
    let seen = Arc::clone(&edges);
    let (from, until) = (task.warm_up, task.warm_up + task.window);
    let control = Control::default().on_progress(move |progress| {
        let Ok(mut edges) = seen.lock() else { return };
        let at = Duration::from_nanos(u64::try_from(progress.at.get().unwrap_or(0)).unwrap_or(0));
        if at >= from && edges.start.is_none() {
            edges.start = Some((Instant::now(), cpu::used()));
        }
        if at >= until && edges.end.is_none() {
            edges.end = Some((Instant::now(), cpu::used()));
        }
    });
    let parent = tempfile::tempdir()?;
    let finished = run(&trace, &target, &options, &parent.path().join("run"), &control)?;
    let edges = edges.lock().map_err(|_| "the listener panicked")?;
    let (Some(start), Some(end)) = (edges.start, edges.end) else { return Err("the window was not seen".into()) };
    let health = finished.info.client.clone().unwrap_or_default();
    let (mut itl, mut ttft) = (None, None);
    if task.tokens < 1_000_000 {
        let evidence = Bundle::open(&finished.dir)?.evidence("bench")?;
        itl = evidence.streams.as_ref().and_then(|s| s.event_gaps.quantile(0.5)).map(|s| s.0);
        let mut all: Vec<f64> =
            evidence.requests.in_window(finished.info.window).filter_map(|(_, r)| r.ttft()).map(|s| s.0).collect();
        all.sort_by(f64::total_cmp);
        ttft = all.get(all.len() / 2).copied();
    }
    let milliseconds =
        |s: Option<firstcheck_model::unit::Seconds>| s.map_or("-".to_owned(), |s| format!("{:.2}", s.0 * 1e3));
    let percent = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.0}", share * 1e2));
    Ok(Figures {
        events: finished.cost.events,
        elapsed: end.0 - start.0,
        cpu: end.1 - start.1,
        itl_p50: itl,
        ttft_p50: ttft,
        notes: format!(
            "loop CPU {} %, stamped {} %, delay p50 {} p99 {} ms, stall {} ms, failures {:?}",
            percent(health.cpu_share),
            percent(health.stamped_share),
            milliseconds(health.delay_p50),
            milliseconds(health.delay_p99),
            milliseconds(health.longest_stall),
            finished.failures,
        ),
    })
}
