//! What a server has done until a moment: the clocks that memory may go by.

use firstcheck_model::{
    evidence::RunEvidence,
    moment::Moment,
    signal::{Part, Series, Signal},
};

/// What memory may grow with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clock {
    /// Finished requests.
    Requests,
    /// Prompt tokens.
    PromptTokens,
    /// Generated tokens.
    OutputTokens,
    /// Seconds.
    Time,
}

impl Clock {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Requests, Self::PromptTokens, Self::OutputTokens, Self::Time];

    /// One tick of it, in words.
    pub const fn tick(self) -> &'static str {
        match self {
            Self::Requests => "request",
            Self::PromptTokens => "prompt token",
            Self::OutputTokens => "generated token",
            Self::Time => "second",
        }
    }
}

/// The clocks at the moments of some samples, from 0 at the first. A clock that no counter tells is missing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Clocks(pub Vec<(Clock, Vec<f64>)>);

impl Clocks {
    /// A clock's readings.
    pub fn get(&self, clock: Clock) -> Option<&[f64]> {
        self.0.iter().find(|(known, _)| *known == clock).map(|(_, readings)| readings.as_slice())
    }

    /// The clocks at `at`, on the clock of `run`; counters are those of `pod` where some carry its name.
    pub(super) fn at(run: Option<&RunEvidence>, pod: Option<&str>, at: &[Moment]) -> Self {
        let counted = [
            (Clock::Requests, Signal::Finished),
            (Clock::PromptTokens, Signal::PromptTokens),
            (Clock::OutputTokens, Signal::GenerationTokens),
        ];
        let of = |(clock, signal)| Some((clock, readings(run?, signal, pod, at)?));
        let mut clocks: Vec<(Clock, Vec<f64>)> = counted.into_iter().filter_map(of).collect();
        let first = at.first().copied().unwrap_or(Moment::NEVER);
        let seconds: Option<Vec<f64>> = at.iter().map(|moment| Some(moment.since(first)?.0)).collect();
        clocks.extend(seconds.map(|seconds| (Clock::Time, seconds)));
        Self(clocks)
    }
}

/// Readings of a counter at some moments; `None` where there is none, it stands still, or it was not read until then.
fn readings(run: &RunEvidence, signal: Signal, pod: Option<&str>, at: &[Moment]) -> Option<Vec<f64>> {
    let all: Vec<&Series> = run.series(signal, Part::Value).filter(|series| series.at.len() >= 2).collect();
    let own: Vec<&Series> = all.iter().copied().filter(|series| pod.is_some_and(|pod| is_of(series, pod))).collect();
    // Counters that stand still while answers come are not those of the servers that gave them.
    let answers = run.window().any(|(_, request)| request.first_token.reached());
    if answers && !all.iter().any(|series| growth(series).last().is_some_and(|grown| *grown > 0.0)) {
        return None;
    }
    let chosen = if own.is_empty() { all } else { own };
    if chosen.is_empty() {
        return None;
    }
    let grown: Vec<Vec<f64>> = chosen.iter().map(|series| growth(series)).collect();
    let total = |moment: Moment| -> Option<f64> {
        chosen.iter().zip(&grown).map(|(series, grown)| reading(&series.at, grown, moment)).sum()
    };
    let readings: Option<Vec<f64>> = at.iter().map(|moment| total(*moment)).collect();
    let readings = readings?;
    let first = *readings.first()?;
    Some(readings.iter().map(|reading| reading - first).collect())
}

/// Whether a series is of that pod: by its page or a label.
fn is_of(series: &Series, pod: &str) -> bool {
    series.page == pod || ["pod", "instance", "replica"].iter().any(|label| series.labels.get(label) == Some(pod))
}

/// Growth until each sample; a counter that restarts goes on from what it had.
fn growth(series: &Series) -> Vec<f64> {
    let mut sum = 0.0;
    let steps = series.value.windows(2).map(|pair| if pair[1] >= pair[0] { pair[1] - pair[0] } else { pair[1] });
    std::iter::once(0.0)
        .chain(steps.map(|step| {
            sum += step;
            sum
        }))
        .collect()
}

/// Intervals between samples for which a counter's first and last readings hold beyond them.
const BEYOND: i64 = 2;

/// The growth at a moment, between samples on a straight line; the first and last a little beyond them.
fn reading(at: &[Moment], grown: &[f64], moment: Moment) -> Option<f64> {
    let (first, last) = (at.first()?, at.last()?);
    let interval_ns = last.ns_since(*first)? / i64::try_from(at.len() - 1).ok()?.max(1);
    let beyond_ns = moment.ns_since(*last)?.max(first.ns_since(moment)?);
    if beyond_ns > BEYOND * interval_ns {
        return None;
    }
    let after = at.partition_point(|sample| *sample < moment);
    if after == 0 {
        return grown.first().copied();
    }
    if after == at.len() {
        return grown.last().copied();
    }
    let (from, to) = (at[after - 1], at[after]);
    let share = moment.since(from)?.0 / to.since(from)?.0.max(1e-9);
    Some(grown[after - 1] + share * (grown[after] - grown[after - 1]))
}
