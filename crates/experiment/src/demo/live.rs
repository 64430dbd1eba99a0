//! The live pair: two servers on loopback, the real client, a real clock.

use super::{DemoOptions, incident, policy};
use crate::{error::Error, event::Event};
use firstcheck_analyze::{judge::judge, settings::Settings};
use firstcheck_load::{Control, Options, Phase, Progress, Target};
use firstcheck_model::{
    evidence::{Evidence, RunEvidence},
    report::Report,
    run::{CacheState, PairPlace, Role, RunId},
};
use firstcheck_sim::{
    EngineConfig,
    serve::{ServeOptions, Server},
};
use firstcheck_workload::trace::Trace;
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Sender, channel},
    },
    time::Duration,
};

/// Warm-up of the live pair.
const WARM_UP: Duration = Duration::from_secs(5);
/// Its window.
const WINDOW: Duration = Duration::from_secs(36);
/// Longest wait for the last answers.
const DRAIN: Duration = Duration::from_secs(15);

/// Runs both sides at the same time and compares them: one pair, exploratory.
pub fn live_pair(
    options: &DemoOptions,
    bundles: &mut Vec<PathBuf>,
    tell: &mut dyn FnMut(Event),
) -> Result<Report, Error> {
    let length = WARM_UP + WINDOW;
    tell(Event::Phase {
        title: format!(
            "one live pair over HTTP, {} s of warm-up and {} s of window: to watch, it does not decide",
            WARM_UP.as_secs(),
            WINDOW.as_secs()
        ),
    });
    let trace = Arc::new(incident::trace(length.as_secs_f64(), options.seed)?);
    let (sender, progress) = channel();
    let sides = [(Role::Base, incident::base()), (Role::Candidate, incident::candidate())];
    let running: Vec<_> = sides
        .into_iter()
        .map(|(role, engine)| {
            let (trace, sender, options) = (trace.clone(), sender.clone(), options.clone());
            std::thread::spawn(move || one_side(role, engine, &trace, &options, sender))
        })
        .collect();
    drop(sender);
    // The channel ends when both sides have: each holds the only other sender.
    for (role, seen) in progress {
        tell(live_event(role, &seen, length));
    }
    let mut runs = Vec::new();
    for thread in running {
        let panicked = |_| Error::Runtime(std::io::Error::other("a side of the live pair panicked"));
        let path = thread.join().map_err(panicked)??;
        runs.push(read(&path)?);
        bundles.push(path);
    }
    let candidate = Evidence::of(runs.split_off(1));
    let mut report = judge(&Evidence::of(runs), &candidate, &policy(), &Settings::default());
    report.verb = "demo".into();
    report.seed = Some(options.seed);
    report.notes.push("one live pair: exploratory, kept out of the interval".into());
    Ok(report)
}

fn one_side(
    role: Role,
    engine: EngineConfig,
    trace: &Arc<Trace>,
    demo: &DemoOptions,
    progress: Sender<(Role, Progress)>,
) -> Result<PathBuf, Error> {
    let model = engine.model_name.clone();
    let server = Server::start(engine, ServeOptions { seed: demo.seed, ..ServeOptions::default() })?;
    let name = role.name();
    let address = format!("http://{}", server.addr()).parse().map_err(Error::Address)?;
    let mut target = Target::new(address);
    target.model = Some(model);
    let experiment = format!("demo-{}-live", demo.seed);
    let mut options = Options::new(RunId(format!("{experiment}-{name}")));
    options.seed = Some(demo.seed);
    options.place =
        Some(PairPlace { experiment, pair: 0, role, order: 0, device: None, cell: None, looks: Vec::new() });
    options.slo = Some(incident::slo());
    options.cache = CacheState::Cold;
    options.warm_up = WARM_UP;
    options.duration = Some(WINDOW);
    options.drain = DRAIN;
    let control = Control::default().on_progress(move |seen: &Progress| {
        // An error means that nobody listens any more, and progress is only for listeners.
        progress.send((role, *seen)).ok();
    });
    let finished = firstcheck_load::run(trace, &target, &options, &demo.out.join(format!("live-{name}")), &control)?;
    server.shutdown()?;
    Ok(finished.dir)
}

fn live_event(role: Role, seen: &Progress, of: Duration) -> Event {
    let elapsed = Duration::from_secs_f64(seen.at.seconds().unwrap_or_default().max(0.0));
    let warm_up = seen.phase == Phase::WarmUp;
    Event::Live {
        warm_up,
        role,
        elapsed,
        of,
        sent: seen.sent,
        done: seen.done,
        failed: seen.failed,
        ttft: seen.ttft,
        itl: seen.itl,
        stall: seen.stall,
    }
}

fn read(path: &Path) -> Result<RunEvidence, Error> {
    crate::drive::read_back(path)
}
