//! A run that is killed in the middle loses at most its last second, and says that it was killed.

use crate::harness::{Bench, arg};
use firstcheck_ingest::read_runs;
use firstcheck_model::{request::Fate, run::RunState};
use firstcheck_sim::{
    EngineConfig,
    serve::{ServeOptions, Server},
};
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// Bytes of the journal's events so far.
fn journalled(run: &Path) -> u64 {
    let events = run.join("journal/events");
    std::fs::metadata(events).map_or(0, |file| file.len())
}

#[test]
fn a_killed_run_opens_as_interrupted_and_lacks_at_most_a_second() {
    let bench = Bench::new();
    let server = Server::start(EngineConfig::default(), ServeOptions::default()).unwrap();
    let (url, run) = (format!("http://{}", server.addr()), bench.path("run"));
    let args = [
        "run",
        "--url",
        &url,
        "--rate",
        "50",
        "--duration",
        "60s",
        "--warm-up",
        "0s",
        "--input-tokens",
        "64",
        "--output-tokens",
        "32",
        "--out",
        arg(&run),
        "--quiet",
    ];
    let mut child = bench.command(&args).spawn().unwrap();
    // A second's rows are one growth of the journal, seen in one or several steps; the first is the file's own head.
    let begun = Instant::now();
    let (mut size, mut growths, mut last_growth) = (0, 0, None::<Instant>);
    while growths < 4 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the journal does not grow: {size} bytes");
        let now = journalled(&run);
        if now > size {
            let same = last_growth.is_some_and(|at| at.elapsed() < Duration::from_millis(500));
            growths += u32::from(!same);
            last_growth = if same { last_growth } else { Some(Instant::now()) };
            size = now;
        }
        std::thread::yield_now();
    }
    let journalled_for = begun.elapsed();
    child.kill().unwrap();
    child.wait().unwrap();

    let evidence = read_runs(&run).unwrap().pop().unwrap();
    assert!(matches!(&evidence.info.state, RunState::Interrupted { .. }), "{:?}", evidence.info.state);
    let last = evidence.requests.0.iter().filter_map(|r| r.sent.seconds()).fold(0.0, f64::max);
    let completed = evidence.requests.0.iter().filter(|r| r.fate == Fate::Completed).count();
    assert!(completed > 50, "{completed} requests are kept after {journalled_for:?}");
    assert!(last > 1.5, "requests are kept up to second {last:.2}");
    bench.expect(3, &["report", arg(&run)]);
}
