//! Steps of an engine over time, counted by the streams that it served.

use super::{live_streams::LiveStreams, stalls::Stalls};
use crate::side::Side;
use firstcheck_model::{
    evidence::{Kind, RunEvidence},
    measurement::Missing,
    moment::Moment,
};

/// How many steps an engine had run by each moment.
///
/// Each step gives every live stream one event, so between two known events of a stream lie as many steps as events. The
/// listed gaps of a stream, its first and its last token are such events; at any moment the pace is the mean of those of
/// the streams under way. Where nobody streams nothing is counted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepPace {
    /// Moments at which the pace changes, ascending, seconds.
    at: Vec<f64>,
    /// Steps by each of them.
    steps: Vec<f64>,
}

/// A stretch of a stream of which its steps are known.
struct Stretch {
    from: f64,
    to: f64,
    steps: f64,
}

impl StepPace {
    /// The steps of a replica of a run; of the whole run where there is one replica.
    ///
    /// # Errors
    /// Streams of which nothing tells which replica served them, or without events.
    pub(crate) fn of(side: &Side<'_>, run: usize, replica: &str) -> Result<Self, Missing> {
        let (stalls, live) = (side.measure::<Stalls>()?, side.measure::<LiveStreams>()?);
        let evidence = side.evidence.runs.get(run).filter(|_| live.tells_replicas());
        let Some(evidence) = evidence else {
            return Err(Missing::not_exposed(
                "which replica served which request",
                "start the engine with its OpenTelemetry exporter on",
            ));
        };
        let mut gaps: Vec<_> = stalls.stalls.iter().filter(|stall| stall.run == run).collect();
        gaps.sort_by_key(|stall| (stall.row, stall.after_events));
        let (mut stretches, mut next) = (Vec::new(), 0);
        for (at, row) in (0u32..).take(evidence.requests.len()).enumerate() {
            let from = next;
            next += gaps[from..].iter().take_while(|stall| stall.row == row).count();
            if live.replica(run, row) == replica {
                let known = gaps[from..next].iter().map(|stall| (stall.start, stall.end, stall.after_events));
                stretches.extend(of_stream(evidence, at, known));
            }
        }
        if stretches.is_empty() {
            return Err(Missing::not_exposed("events of streams, to count steps by", Kind::Events.obtain()));
        }
        Ok(Self::over(&stretches))
    }

    /// Integrates the mean pace of the stretches under way.
    fn over(stretches: &[Stretch]) -> Self {
        let mut ends: Vec<(f64, f64, f64)> = Vec::with_capacity(2 * stretches.len());
        for stretch in stretches {
            let pace = stretch.steps / (stretch.to - stretch.from);
            ends.extend([(stretch.from, pace, 1.0), (stretch.to, -pace, -1.0)]);
        }
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut pace, mut live, mut done) = (0.0, 0.0, 0.0);
        let (mut at, mut steps) = (Vec::with_capacity(ends.len()), Vec::with_capacity(ends.len()));
        for (moment, change, streams) in ends {
            if let Some(last) = at.last().filter(|_| live > 0.0) {
                done += f64::max(pace, 0.0) / live * (moment - last);
            }
            pace += change;
            live += streams;
            at.push(moment);
            steps.push(done);
        }
        Self { at, steps }
    }

    /// Steps by a moment, seconds on the run's clock.
    pub(crate) fn by(&self, moment: f64) -> f64 {
        let after = self.at.partition_point(|at| *at <= moment);
        let Some(before) = after.checked_sub(1) else { return 0.0 };
        let (Some(next), Some(later)) = (self.at.get(after), self.steps.get(after)) else { return self.steps[before] };
        let share = (moment - self.at[before]) / (next - self.at[before]);
        self.steps[before] + (later - self.steps[before]) * share
    }
}

/// The stretches of one stream between its `known` gaps, in order, and the gaps themselves.
fn of_stream(run: &RunEvidence, row: usize, known: impl Iterator<Item = (Moment, Moment, u32)>) -> Vec<Stretch> {
    let all = run.streams.as_ref().and_then(|streams| streams.events.get(row)).copied().unwrap_or(0);
    let Some((mut last, end)) = run
        .requests
        .0
        .get(row)
        .and_then(|request| Some((request.first_token.seconds()?, request.last_token.seconds()?)))
    else {
        return Vec::new();
    };
    let (mut stretches, mut event) = (Vec::new(), 1);
    let mut push = |from: f64, to: f64, steps: u32| {
        if to > from && steps > 0 {
            stretches.push(Stretch { from, to, steps: f64::from(steps) });
        }
    };
    for (start, stop, before) in known {
        let (Some(start), Some(stop)) = (start.seconds(), stop.seconds()) else { continue };
        push(last, start, before.saturating_sub(event));
        push(start, stop, 1);
        (last, event) = (stop, before + 1);
    }
    push(last, end, all.saturating_sub(event));
    stretches
}
