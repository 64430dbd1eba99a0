//! Rules over how each run was measured: whether its client, its host and its window can be believed.

use super::{Found, Judge, Level, Reach, Rule};
use crate::compare::{policy::Policy, reading::Reading};
use firstcheck_model::{metric::Metric, run::Origin};

pub(super) static CLIENT: Rule = Rule {
    name: "client",
    finds: "blocks: a client that may not be believed; warns: one that may not be believed in a metric",
    mend: "give the client more cores or a host of its own, or offer less; then measure again",
    judge: Judge::Each(client),
};

pub(super) static CONTRADICTION: Rule = Rule {
    name: "contradiction",
    finds: "blocks: a file that says two things of its own requests",
    mend: "give the file as its tool wrote it, or measure again",
    judge: Judge::Each(contradiction),
};

pub(super) static HOST_LOAD: Rule = Rule {
    name: "host-load",
    finds: "warns: the client's host was busy before the run",
    mend: "measure on a host where nothing else runs",
    judge: Judge::Each(host_load),
};

pub(super) static WARM_UP_INSIDE: Rule = Rule {
    name: "warm-up-inside-window",
    finds: "warns of what the engine counts: it finished other requests than the client's",
    mend: "read the engine's counters between warm-up and window, and let nobody else use the server: firstcheck run \
           reads them there",
    judge: Judge::Each(warm_up_inside),
};

/// A client that could not keep up measured itself.
fn client(run: &Reading, _: &Policy) -> Vec<Found> {
    let doubts = run.info.client.iter().flat_map(|client| &client.doubts);
    doubts
        .map(|doubt| match doubt.metric {
            None => Found::blocks(format!("{}: {}", run.label, doubt.reason)),
            Some(metric) => {
                Found::warns(format!("{}: {} may not be believed: {}", run.label, Metric::label(metric), doubt.reason))
            }
        })
        .collect()
}

fn contradiction(run: &Reading, _: &Policy) -> Vec<Found> {
    let said = run.info.contradictions.iter();
    said.map(|said| Found::blocks(format!("{}: {said}", run.label))).collect()
}

fn host_load(run: &Reading, policy: &Policy) -> Vec<Found> {
    match run.info.client.as_ref().and_then(|client| client.host_load) {
        Some(load) if load > policy.host_load => vec![Found::warns(format!(
            "{}: the client's host was busy before the run: {load:.1} processes a core (allowed {})",
            run.label, policy.host_load
        ))],
        _ => Vec::new(),
    }
}

/// The engine counted other requests than the client's: a client's warm-up, or somebody else's. A page that is scraped
/// when the window begins finds requests of the warm-up in flight, so that a measured run is given some tolerance; the
/// pages of a foreign result lie before and after all of it.
fn warm_up_inside(run: &Reading, policy: &Policy) -> Vec<Found> {
    let (Some(finished), Some(answered)) = (run.finished, run.offered.checked_sub(run.unanswered)) else {
        return Vec::new();
    };
    let tolerance = if matches!(run.info.origin, Origin::Imported { .. }) { 0.0 } else { policy.mix_tolerance };
    let (answered, others) = (answered as f64, finished - answered as f64);
    if run.offered == 0 || others.abs() <= tolerance * answered {
        return Vec::new();
    }
    let what = if others > 0.0 { "warm-up or others are inside the window" } else { "the pages do not hold all of it" };
    let reason = format!(
        "{}: {what}: the engine finished {finished} requests, the client {answered}: its means and counters are not of \
         the client's requests alone",
        run.label
    );
    vec![Found { level: Level::Warns, reach: Reach::EngineCounters, reason }]
}
