//! Waits outside the engine: in the client, and in what stands before the engine's core.

use super::{Params, symptom::ms};
use crate::{
    case::Case,
    measure::{
        counters::runs_of,
        first_token_waits::{FirstTokenWaits, overlap, union},
        step_wait::StepWait,
        ttft_ledger::TtftLedger,
    },
    side::Side,
    verdict::{MOST, Weighed},
};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Fact, Measurement, Missing, Source},
    request::Request,
    span::Stage,
    unit::{Ratio, Seconds},
};

/// The mean wait of a first token by its place.
pub(super) struct Places {
    /// In front of the engine's core, beyond the wait for the step in hand: seconds.
    pub front: f64,
    /// Waiting for the step in hand, and in the engine's queue.
    pub queue: f64,
    source: Source,
    n: u64,
}

impl Places {
    /// Places of a side's waits, less those of the base.
    ///
    /// # Errors
    /// The engine's ledger cannot be told.
    pub fn of(case: &Case<'_>) -> Result<Self, Missing> {
        let mut now = places(case.side)?;
        if let Some(before) = case.base.and_then(|base| places(base).ok()) {
            now.front = (now.front - before.front).max(0.0);
            now.queue = (now.queue - before.queue).max(0.0);
        }
        Ok(now)
    }

    fn whole(&self) -> f64 {
        self.front + self.queue
    }

    /// Share of the wait before the core; `None` where there is none.
    pub fn front_share(&self) -> Option<f64> {
        (self.whole() > 0.0).then(|| self.front / self.whole())
    }

    /// What it comes to, in words.
    pub fn fact(&self) -> Fact {
        let value = Measurement { value: Seconds(self.queue), interval: None, n: self.n, source: self.source.clone() };
        value.fact(format!(
            "mean wait in the engine's queue and for its step {}, before it {}",
            ms(self.queue),
            ms(self.front)
        ))
    }
}

fn places(side: &Side<'_>) -> Result<Places, Missing> {
    let ledger = side.measure::<TtftLedger>()?;
    let whole = ledger.server.whole.as_ref().map_err(Clone::clone)?;
    let term = |stage| ledger.server.term(stage).map(|mean| mean.value.0);
    let (Some(queue), Some(front)) = (term(Stage::Queue), term(Stage::FrontEnd)) else {
        return Err(ledger.server.missing.first().cloned().unwrap_or_else(|| {
            Missing::not_exposed("queue and prefill time of the engine", "firstcheck run --url URL")
        }));
    };
    // What arrives waits for the step in hand before the core takes it in: that is the engine's, not the front end's.
    let step = side.measure::<StepWait>()?.mean.value.0.min(front.max(0.0));
    let outside = outside(side, whole);
    Ok(Places {
        front: (front - step).max(0.0) + outside,
        queue: queue + step,
        source: whole.source.clone(),
        n: whole.n,
    })
}

/// What the client sees of a first token and the server does not. Where others' requests are in the server's mean, or
/// the window's last requests are not, the two means are of different requests and tell nothing.
fn outside(side: &Side<'_>, server: &Measurement<Seconds>) -> f64 {
    let inside =
        |request: &&Request, run: &RunEvidence| run.info.window.is_none_or(|w| w.contains(request.first_token));
    let seen: Vec<f64> = side
        .evidence
        .runs
        .iter()
        .flat_map(|run| run.window().map(|(_, request)| request).filter(|r| inside(r, run)).collect::<Vec<_>>())
        .filter_map(|request| Some(request.ttft_from_sent()?.0).filter(|ttft| ttft.is_finite()))
        .collect();
    let n = seen.len() as f64;
    if (server.n as f64 - n).abs() > SAME * n {
        return 0.0;
    }
    (seen.iter().sum::<f64>() / n - server.value.0).max(0.0)
}

/// Share by which two counts may differ and still be of the same requests.
const SAME: f64 = 0.05;

/// Mean wait in the client, where the plan is known, and the share of the mean wait that it is.
pub(super) fn held_back(side: &Side<'_>) -> Option<(Measurement<Seconds>, f64)> {
    let runs = &side.evidence.runs;
    let lags = lags(runs);
    let n = lags.len() as u64;
    let mean = lags.iter().sum::<f64>() / n.max(1) as f64;
    let source = Source::Derived { by: "actual less intended send".into(), from: runs_of(runs) };
    let waits = side.measure::<FirstTokenWaits>().ok()?;
    let share = mean / waits.mean.value.0.max(1e-9);
    (n > 0).then_some((Measurement { value: Seconds(mean), interval: None, n, source }, share))
}

pub(super) fn gate(case: &Case<'_>, params: &Params) -> Result<Weighed, Missing> {
    let waits = case.side.measure::<FirstTokenWaits>()?;
    let Some((lag, share)) = held_back(case.side) else {
        let what = "when the client meant to send each request: a wait inside it leaves no trace";
        return Err(Missing::not_exposed(what, "firstcheck run --url URL --rate RATE"));
    };
    let facts = vec![
        lag.fact(format!("requests waited {} on average in the client", ms(lag.value.0))),
        waits.mean.fact(format!("mean wait for a first token {}", ms(waits.mean.value.0))),
    ];
    Ok(Weighed::by(share >= params.share, facts))
}

/// How late each request was sent, where the plan is known.
fn lags(runs: &[RunEvidence]) -> Vec<f64> {
    let rows = runs.iter().flat_map(RunEvidence::window).map(|(_, request)| request);
    rows.filter(|request| request.first_token.reached())
        .filter_map(|request| Some(request.send_lag()?.0.max(0.0)))
        .collect()
}

/// What the wait in the client comes to, if it leaves too little for a cause elsewhere.
pub(super) fn in_client(case: &Case<'_>, params: &Params) -> Option<Fact> {
    let (lag, share) = held_back(case.side)?;
    (1.0 - share < params.share)
        .then(|| lag.fact(format!("requests waited {} on average in the client", ms(lag.value.0))))
}

pub(super) fn front_end(case: &Case<'_>, params: &Params) -> Result<Weighed, Missing> {
    if let Some(fact) = in_client(case, params) {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    if let Some(share) = before_the_first(case.side).filter(|share| share.value.0 >= MOST) {
        let text = "{:.0} % of all waiting lies before the first token of any request: the engine had not begun";
        let text = text.replacen("{:.0}", &format!("{:.0}", share.value.0 * 100.0), 1);
        return Ok(Weighed::Excludes(vec![share.fact(text)]));
    }
    let places = match Places::of(case) {
        Ok(places) => places,
        Err(missing) => {
            // While all streams pause, nobody in the engine works: that is no front end.
            let paused = paused(case.side).filter(|share| share.value.0 >= MOST).ok_or(missing)?;
            let text = format!("{:.0} % of all waiting lies within pauses of the streams", paused.value.0 * 100.0);
            return Ok(Weighed::Excludes(vec![paused.fact(text)]));
        }
    };
    let facts = vec![places.fact()];
    // Where nobody waits in the engine or before it, nothing waits in the front end.
    let counts = places.front_share().is_some_and(|share| share >= params.share);
    Ok(Weighed::by(counts, facts))
}

/// Share of all waiting that lies before the first token of any request of the run; `None` where nobody waited.
fn before_the_first(side: &Side<'_>) -> Option<Measurement<Ratio>> {
    let waits = side.measure::<FirstTokenWaits>().ok()?;
    let runs = &side.evidence.runs;
    let first = |run: &RunEvidence| {
        let all = run.requests.0.iter().map(|request| request.first_token);
        all.filter(|first| first.reached()).min()?.seconds()
    };
    let firsts: Vec<Option<f64>> = runs.iter().map(first).collect();
    let (mut waited, mut covered) = (0.0, 0.0);
    for row in waits.rows.iter().filter(|row| row.wait.is_finite()) {
        waited += row.wait;
        let until = firsts[row.run].unwrap_or(row.at);
        covered += (until - row.at).clamp(0.0, row.wait);
    }
    let source = Source::Derived { by: "waits before the first token of any".into(), from: runs_of(runs) };
    let value = Ratio(covered / waited);
    (waited > 0.0).then_some(Measurement { value, interval: None, n: waits.tail.n, source })
}

/// Share of all waiting that lies within long gaps of the streams; `None` without events.
fn paused(side: &Side<'_>) -> Option<Measurement<Ratio>> {
    let waits = side.measure::<FirstTokenWaits>().ok()?;
    let runs = &side.evidence.runs;
    let (mut waited, mut covered) = (0.0, 0.0);
    for (at, run) in runs.iter().enumerate() {
        let gaps = &run.streams.as_ref()?.long_gaps.gaps;
        let spans = gaps.iter().filter(|gap| gap.length_ns >= PAUSE_NS).filter_map(|gap| {
            let start = run.requests.0.get(gap.request as usize)?.sent.plus_ns(gap.since_sent_ns).seconds()?;
            Some((start, start + gap.length_ns as f64 * 1e-9))
        });
        let pauses = union(spans.collect());
        for row in waits.rows.iter().filter(|row| row.run == at && row.wait.is_finite()) {
            waited += row.wait;
            covered += overlap(&pauses, row.at, row.at + row.wait);
        }
    }
    let source = Source::Derived { by: "waits within long gaps of streams".into(), from: runs_of(runs) };
    let value = Ratio(covered / waited);
    (waited > 0.0).then_some(Measurement { value, interval: None, n: waits.tail.n, source })
}

/// Shortest gap of a stream that counts as a pause, nanoseconds.
const PAUSE_NS: i64 = 200_000_000;
