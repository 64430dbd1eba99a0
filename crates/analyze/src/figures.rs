//! Distributions and series of both sides, aggregated for a page.

use firstcheck_model::{
    evidence::RunEvidence,
    figure::{DistributionRow, Figures, Histogram, Mark, TimelineRow, brief},
    metric::Metric,
    moment::{Moment, Window},
    request::Request,
    run::Role,
    signal::{Part, Series, Signal},
    unit::Seconds,
};

/// Parts of a run's span that a timeline has at most.
const PARTS: usize = 120;
/// Restarts that are marked a run; one that restarts more often is a story of its own.
const MOST_MARKS: usize = 20;

/// How a signal is drawn over the replicas of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Drawn {
    /// A level, added up.
    Level,
    /// A share, averaged.
    Share,
    /// A counter: its growth a second, added up.
    Growth,
}

/// Signals that are drawn, with their unit.
const DRAWN: [(Signal, &str, Drawn); 5] = [
    (Signal::Running, "requests", Drawn::Level),
    (Signal::Waiting, "requests", Drawn::Level),
    (Signal::KvCacheUsage, "1", Drawn::Share),
    (Signal::Preemptions, "1/s", Drawn::Growth),
    (Signal::GenerationTokens, "tokens/s", Drawn::Growth),
];

/// What a page draws of both sides.
pub fn figures(base: &[RunEvidence], candidate: &[RunEvidence]) -> Figures {
    let sides = [(Role::Base, base), (Role::Candidate, candidate)];
    let mut figures = Figures::default();
    for (metric, fill) in METRICS {
        let [base, candidate] = [base, candidate].map(|runs| filled(runs, fill));
        if base.is_some() || candidate.is_some() {
            figures.distributions.push(DistributionRow { metric, unit: metric.unit().into(), base, candidate });
        }
    }
    for (side, runs) in sides {
        // One run stands for its side: runs have clocks of their own.
        let Some(run) = runs.iter().find(|run| run.shows_an_engine()) else { continue };
        let Some(span) = run.span() else { continue };
        figures.timelines.extend(DRAWN.iter().filter_map(|drawn| timeline(run, side, span, *drawn)));
        figures.marks.extend(marks(run, side, span));
    }
    figures
}

/// How a run's samples of a metric enter a histogram.
type Fill = fn(&RunEvidence, &mut Histogram);

const METRICS: [(Metric, Fill); 5] = [
    (Metric::Ttft, |run, into| each(run, into, |_, request| request.ttft())),
    (Metric::Tpot, |run, into| each(run, into, |_, request| request.tpot())),
    (Metric::E2e, |run, into| each(run, into, |_, request| request.e2e())),
    (Metric::EventGap, |run, into| {
        let gaps = run.streams.iter().flat_map(|streams| streams.event_gaps.buckets());
        gaps.for_each(|(gap, times)| into.add(gap.0, times));
    }),
    (Metric::LongestGap, |run, into| each(run, into, |row, _| run.longest_gap(row))),
];

fn each(run: &RunEvidence, into: &mut Histogram, of: impl Fn(usize, &Request) -> Option<Seconds>) {
    run.window().filter_map(|(row, request)| of(row, request)).for_each(|value| into.add(value.0, 1));
}

/// All runs of a side in one histogram; `None` where nothing was answered.
fn filled(runs: &[RunEvidence], fill: Fill) -> Option<Histogram> {
    let mut histogram = Histogram::default();
    runs.iter().for_each(|run| fill(run, &mut histogram));
    (histogram.n > histogram.unanswered).then_some(histogram)
}

/// The signal over the run's span, of all its series together: each is a replica or a rank of its own.
fn timeline(run: &RunEvidence, side: Role, span: Window, drawn: (Signal, &str, Drawn)) -> Option<TimelineRow> {
    let (signal, unit, drawn) = drawn;
    let mut parts: Vec<(f64, u64)> = vec![(0.0, 0); PARTS];
    for series in run.series(signal, Part::Value) {
        let means = if drawn == Drawn::Growth { growth(series, span) } else { levels(series, span) };
        for (part, mean) in parts.iter_mut().zip(means) {
            if let Some(mean) = mean {
                part.0 += mean;
                part.1 += 1;
            }
        }
    }
    let length = span.length()?.0;
    let start = span.start.seconds()?;
    let value = |(sum, series): (f64, u64)| if drawn == Drawn::Share { sum / series as f64 } else { sum };
    let points = parts.into_iter().enumerate().filter(|(_, (_, series))| *series > 0);
    let at = |part: usize| start + (part as f64 + 0.5) * length / PARTS as f64;
    let points: Vec<(f64, f64)> = points.map(|(part, sums)| (brief(at(part)), brief(value(sums)))).collect();
    let name = signal.name().to_owned();
    (points.len() > 1).then(|| TimelineRow { signal: name, unit: unit.into(), side, run: run.label.clone(), points })
}

/// The part of the span that a moment is in.
fn part(span: Window, at: Moment) -> Option<usize> {
    let place = at.since(span.start)?.0 / span.length()?.0 * PARTS as f64;
    (place >= 0.0 && place < PARTS as f64).then_some(place as usize)
}

/// Mean level in each part.
fn levels(series: &Series, span: Window) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0u64); PARTS];
    for (at, value) in series.inside(Some(span)) {
        if let Some(part) = part(span, at)
            && value.is_finite()
        {
            sums[part].0 += value;
            sums[part].1 += 1;
        }
    }
    sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / n as f64)).collect()
}

/// Mean growth a second between the samples that end in each part; a restart begins from zero.
fn growth(series: &Series, span: Window) -> Vec<Option<f64>> {
    let samples: Vec<(Moment, f64)> = series.inside(Some(span)).collect();
    let mut sums = vec![(0.0, 0.0); PARTS];
    for pair in samples.windows(2) {
        let (Some(part), Some(over)) = (part(span, pair[1].0), pair[1].0.since(pair[0].0)) else { continue };
        let grown = if pair[1].1 >= pair[0].1 { pair[1].1 - pair[0].1 } else { pair[1].1 };
        if over.0 > 0.0 && grown.is_finite() {
            sums[part].0 += grown;
            sums[part].1 += over.0;
        }
    }
    sums.into_iter().map(|(grown, over)| (over > 0.0).then(|| grown / over)).collect()
}

/// Restarts of the engine, told by a counter of its that fell.
fn marks(run: &RunEvidence, side: Role, span: Window) -> Vec<Mark> {
    let mut marks = Vec::new();
    for series in run.series(Signal::GenerationTokens, Part::Value) {
        let samples: Vec<(Moment, f64)> = series.inside(Some(span)).collect();
        let fell = samples.windows(2).filter(|pair| pair[1].1 < pair[0].1);
        let at = fell.filter_map(|pair| pair[1].0.seconds());
        marks.extend(at.map(|at_s| Mark {
            side,
            run: run.label.clone(),
            at_s: brief(at_s),
            what: "the engine restarted".into(),
        }));
    }
    marks.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    marks.truncate(MOST_MARKS);
    marks
}
