//! Which streams were under way at a moment.

use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::{Kind, RunEvidence},
    measurement::Missing,
    moment::Moment,
};
use std::collections::{BTreeSet, HashMap};

/// Streams between their first and their last token over time, by the replica that served them where spans tell it.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveStreams {
    runs: Vec<LiveRun>,
    /// Engines behind each run: replicas that spans name, else engines that the metrics show, else one.
    pub engines: usize,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct LiveRun {
    /// Replica of each row; the empty one where none is told.
    replica: Vec<String>,
    spans: HashMap<String, Ends>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Ends {
    first: Vec<Moment>,
    last: Vec<Moment>,
}

impl Measure for LiveStreams {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let runs: Vec<LiveRun> = side.evidence.runs.iter().map(live).collect();
        if runs.iter().all(|run| run.spans.is_empty()) {
            return Err(Missing::not_exposed("moments of first and last tokens", Kind::Requests.obtain()));
        }
        let named = |run: &LiveRun| run.spans.keys().filter(|name| !name.is_empty()).count();
        let shown = side.measure::<super::batch_timeline::BatchTimeline>();
        let on_page = |run: usize| shown.as_ref().map_or(0, |timeline| timeline.of_run(run).count());
        let engines = runs.iter().enumerate().map(|(number, run)| named(run).max(on_page(number))).max();
        Ok(Self { runs, engines: engines.unwrap_or(1).max(1) })
    }
}

fn live(run: &RunEvidence) -> LiveRun {
    let mut live = LiveRun { replica: vec![String::new(); run.requests.len()], ..LiveRun::default() };
    for span in &run.spans {
        if let (Some(replica), Some(slot)) = (&span.replica, live.replica.get_mut(span.request as usize)) {
            slot.clone_from(replica);
        }
    }
    // Streams before and after the window keep those inside company.
    for (request, replica) in run.requests.0.iter().zip(&live.replica) {
        if request.first_token.reached() && request.last_token > request.first_token {
            let ends = live.spans.entry(replica.clone()).or_default();
            ends.first.push(request.first_token);
            ends.last.push(request.last_token);
        }
    }
    for ends in live.spans.values_mut() {
        ends.first.sort_unstable();
        ends.last.sort_unstable();
    }
    live
}

impl Ends {
    fn at(&self, moment: Moment) -> usize {
        let begun = self.first.partition_point(|at| *at <= moment);
        begun - self.last.partition_point(|at| *at <= moment).min(begun)
    }
}

impl LiveStreams {
    /// Streams of the run that were under way at the moment, on the replica of that row where it is told.
    pub fn beside(&self, run: usize, row: u32, moment: Moment) -> usize {
        let Some(live) = self.runs.get(run) else { return 0 };
        let replica = live.replica.get(row as usize).map_or("", String::as_str);
        live.spans.get(replica).map_or(0, |ends| ends.at(moment))
    }

    /// Most streams that were under way at once on one replica, of any run.
    pub fn most(&self) -> usize {
        let ends = self.runs.iter().flat_map(|run| run.spans.values());
        ends.flat_map(|ends| ends.first.iter().map(|begun| ends.at(*begun))).max().unwrap_or(0)
    }

    /// The replica of a row, empty where none is told.
    pub fn replica(&self, run: usize, row: u32) -> &str {
        self.runs.get(run).and_then(|live| live.replica.get(row as usize)).map_or("", String::as_str)
    }

    /// Whether spans tell which replica served which stream, or there is only one.
    pub fn tells_replicas(&self) -> bool {
        let told = |run: &LiveRun| run.spans.keys().all(|name| !name.is_empty());
        self.engines == 1 || self.runs.iter().all(told)
    }

    /// Names of the replicas of a run.
    pub fn replicas(&self, run: usize) -> BTreeSet<&str> {
        self.runs.get(run).map(|live| live.spans.keys().map(String::as_str).collect()).unwrap_or_default()
    }
}
