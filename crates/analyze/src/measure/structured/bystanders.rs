//! Whether all streams stand still when a request with a schema arrives.

use super::{median, no_schema, standstill, too_few};
use crate::{
    measure::{counters::runs_of, stalls::Stalls},
    side::{Measure, Side},
};
use firstcheck_model::{
    measurement::{Measurement, Missing, Source},
    moment::Moment,
    unit::{Ratio, Seconds},
};

/// Standstills of streams, and requests with a schema that arrived right before them.
#[derive(Debug, Clone, PartialEq)]
pub struct Bystanders {
    /// Median length of the standstills.
    pub length: Measurement<Seconds>,
    /// Share of them before which such a request arrived.
    pub triggered: Measurement<Ratio>,
    /// The share that chance would give, at the rate at which such requests arrive.
    pub chance: f64,
    /// Share of the windows' time that they take.
    pub of_time: f64,
}

/// An arrival this long before a standstill is right before it, seconds: a step or two.
const BEFORE: f64 = 0.05;

/// … or this long after the last event before it, nanoseconds: the step that the arrival held up had begun by then.
const AFTER_NS: i64 = 10_000_000;

/// Gaps of several streams that begin within this time are one standstill, seconds.
const TOGETHER: f64 = 0.02;

/// Fewest standstills of which a share is told.
const FEWEST: usize = 5;

impl Measure for Bystanders {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let stalls = side.measure::<Stalls>()?;
        let shortest = standstill(stalls.pace);
        let (mut lengths, mut triggered, mut chance, mut windows, mut asked) = (Vec::new(), 0, 0.0, 0.0, 0);
        for (number, run) in side.evidence.runs.iter().enumerate() {
            let Some(window) = run.span() else { continue };
            let over = window.length().map_or(0.0, |length| length.0);
            let requests = run.requests.0.iter().filter(|request| request.schema.is_some() && request.sent.reached());
            let mut arrivals: Vec<Moment> = requests.map(|request| request.sent).collect();
            arrivals.sort_unstable();
            asked += arrivals.len();
            let inside = arrivals.iter().filter(|at| window.contains(**at)).count();
            let rate = if over > 0.0 { inside as f64 / over } else { 0.0 };
            windows += over;
            let mine = stalls.stalls.iter().filter(|stall| stall.run == number && stall.length.0 >= shortest);
            let mut before: Option<(Moment, Moment)> = None;
            for (start, end) in
                together(mine.filter(|stall| stall.start.reached()).map(|stall| (stall.start, stall.end)))
            {
                // One right behind another was brought about by what arrived during the other.
                let back = before.filter(|(_, ended)| start.since(*ended).is_some_and(|apart| apart.0 < BEFORE));
                let from = back.map_or_else(|| start.plus_ns(-((BEFORE * 1e9) as i64)), |(began, _)| began);
                let place = arrivals.partition_point(|at| *at < from);
                triggered += usize::from(arrivals.get(place).is_some_and(|at| *at <= start.plus_ns(AFTER_NS)));
                let length = start.since(from).map_or(0.0, |length| length.0);
                chance += 1.0 - (-rate * length).exp();
                lengths.push(end.since(start).map_or(0.0, |length| length.0));
                before = Some((start, end));
            }
        }
        if asked == 0 {
            return Err(no_schema());
        }
        let n = lengths.len();
        if n < FEWEST {
            return Err(too_few("standstills of streams", n, FEWEST as u64));
        }
        let of_time = lengths.iter().sum::<f64>() / windows;
        let from = runs_of(&side.evidence.runs);
        let source = |by: &str| Source::Derived { by: by.into(), from: from.clone() };
        let length = median(lengths).unwrap_or(0.0);
        Ok(Self {
            length: Measurement {
                value: Seconds(length),
                interval: None,
                n: n as u64,
                source: source("standstills of streams"),
            },
            triggered: Measurement {
                value: Ratio(triggered as f64 / n as f64),
                interval: None,
                n: n as u64,
                source: source("standstills right after a request with a schema / standstills"),
            },
            chance: chance / n as f64,
            of_time,
        })
    }
}

/// Gaps of streams that begin together, as one each, in the order of their starts.
fn together(gaps: impl Iterator<Item = (Moment, Moment)>) -> Vec<(Moment, Moment)> {
    let mut gaps: Vec<(Moment, Moment)> = gaps.collect();
    gaps.sort_unstable();
    let mut all: Vec<(Moment, Moment)> = Vec::new();
    for (start, end) in gaps {
        match all.last_mut() {
            Some((first, last)) if start.since(*first).is_some_and(|apart| apart.0 <= TOGETHER) => {
                *last = end.max(*last)
            }
            _ => all.push((start, end)),
        }
    }
    all
}
