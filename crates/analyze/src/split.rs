//! One side before and after a moment: two sides out of one run's evidence.

use firstcheck_model::{
    distribution::Distribution,
    event::{COALESCED_NS, Streams},
    evidence::{Evidence, RunEvidence},
    moment::{Moment, Window},
};

/// The evidence before and after the moments that `at` names for its runs.
///
/// A run that is split stands on both sides with its window cut: rows, series and spans are the same, and measurements
/// look inside the window. A run of which `at` names no moment stands on both sides whole, as does everything that is no
/// run: what the deployment is does not change at the moment. Prompts are no such thing: they go with their requests, and
/// those of which it is not known whose they are go nowhere.
pub fn split(evidence: &Evidence, at: impl Fn(&RunEvidence) -> Option<Moment>) -> (Evidence, Evidence) {
    let (mut before, mut after) = (evidence.clone(), evidence.clone());
    for ((earlier, later), run) in before.runs.iter_mut().zip(&mut after.runs).zip(&evidence.runs) {
        let (Some(moment), Some(whole)) = (at(run), run.span()) else { continue };
        earlier.info.window = Some(Window { start: whole.start, end: moment.min(whole.end) });
        later.info.window = Some(Window { start: moment.max(whole.start), end: whole.end });
        earlier.streams = earlier.streams.take().map(|streams| of_rows(streams, earlier));
        later.streams = later.streams.take().map(|streams| of_rows(streams, later));
    }
    if evidence.runs.iter().any(|run| at(run).is_some()) {
        keep_prompts_inside(&mut before);
        keep_prompts_inside(&mut after);
    }
    (before, after)
}

/// Leaves the prompts of requests inside the window: rows of a file are those of the only run.
fn keep_prompts_inside(evidence: &mut Evidence) {
    let inside = match evidence.runs.as_slice() {
        [run] => rows_inside(run),
        _ => Vec::new(),
    };
    for file in &mut evidence.prompts {
        file.item = file.item.of_requests(|row| inside.get(row as usize) == Some(&true));
    }
    evidence.prompts.retain(|file| !file.item.is_empty());
}

/// Of each row, whether it lies inside the window.
fn rows_inside(run: &RunEvidence) -> Vec<bool> {
    let mut inside = vec![false; run.requests.len()];
    run.window().for_each(|(row, _)| inside[row] = true);
    inside
}

/// What is known of the streams by rows; distributions over a whole window say nothing of its halves, but that of the
/// gaps that are listed one by one.
fn of_rows(mut streams: Streams, run: &RunEvidence) -> Streams {
    let inside = rows_inside(run);
    let complete = streams.long_gaps.shortest_ns == 0;
    streams.long_gaps.gaps.retain(|gap| inside.get(gap.request as usize) == Some(&true));
    let (mut event_gaps, mut coalesced) = (Distribution::default(), 0);
    for gap in streams.long_gaps.gaps.iter().filter(|_| complete) {
        event_gaps.add_ns(gap.length_ns, 1);
        coalesced += u64::from(gap.length_ns < COALESCED_NS);
    }
    Streams {
        event_gaps,
        itl: Distribution::default(),
        client_delay: Distribution::default(),
        total_events: 0,
        coalesced,
        uncounted_streams: 0,
        ..streams
    }
}
