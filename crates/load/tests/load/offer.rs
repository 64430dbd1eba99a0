//! Running the client against a server, for the tests.

use firstcheck_bundle::Bundle;
use firstcheck_load::{Control, Finished, Options, Target, run};
use firstcheck_model::{
    event::Event,
    moment::Moment,
    request::Requests,
    run::{Arrivals, RunId},
};
use firstcheck_workload::{
    prompt::{Piece, Prompt},
    trace::{Due, Offered, Trace},
};
use std::{sync::Arc, time::Duration};

/// What a run left on disk.
pub struct Outcome {
    pub finished: Finished,
    pub bundle: Bundle,
    pub requests: Requests,
    pub events: Vec<Event>,
    _folder: tempfile::TempDir,
}

impl Outcome {
    /// The events of one request.
    pub fn events_of(&self, row: u32) -> Vec<Event> {
        self.events.iter().filter(|event| event.request == row).copied().collect()
    }
}

/// One row that says "hello".
pub fn offered(due: Due) -> Offered {
    let prompt = Prompt::user(vec![Piece::Text("hello there".into())]);
    Offered { due, prompt, output_tokens: None, session: None }
}

pub fn trace(arrivals: Arrivals, items: Vec<Offered>) -> Arc<Trace> {
    Arc::new(Trace { description: "test".into(), arrivals, items, salt: None })
}

/// An open loop with a request each `gap`.
pub fn open(requests: usize, gap: Duration) -> Arc<Trace> {
    let at = |n: usize| Moment::at((gap * n as u32).as_nanos() as i64);
    let rate = 1.0 / gap.as_secs_f64().max(1e-6);
    trace(Arrivals::Open { rate, cv: Some(0.0) }, (0..requests).map(|n| offered(Due::At(at(n)))).collect())
}

/// A closed loop.
pub fn closed(requests: usize, concurrency: u32) -> Arc<Trace> {
    trace(Arrivals::Closed { concurrency }, vec![offered(Due::WhenFree); requests])
}

/// Options for a test: short time-outs, no drain worth mentioning.
pub fn options() -> Options {
    let mut options = Options::new(RunId("test-run".into()));
    options.limits.stall = Duration::from_secs(20);
    options.drain = Duration::from_secs(20);
    options
}

pub fn target(url: &str) -> Target {
    let mut target = Target::new(url.parse().unwrap());
    target.model = Some("m".into());
    target
}

/// Runs and reads the bundle back.
pub fn offer(trace: &Arc<Trace>, target: &Target, options: &Options) -> Outcome {
    offer_with(trace, target, options, &Control::default())
}

pub fn offer_with(trace: &Arc<Trace>, target: &Target, options: &Options, control: &Control) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let finished = run(trace, target, options, &folder.path().join("run"), control).unwrap();
    let bundle = Bundle::open(&finished.dir).unwrap();
    let requests = bundle.requests().unwrap();
    let mut events = Vec::new();
    bundle.for_each_event_batch(|batch| events.extend_from_slice(batch)).unwrap();
    Outcome { finished, bundle, requests, events, _folder: folder }
}
