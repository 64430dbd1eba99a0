//! Where time was gained or lost: stages of the mean and of a quantile.

use super::{
    columns::Columns,
    plan::Key,
    policy::Policy,
    reading::{Reading, mean},
};
use firstcheck_model::{
    evidence::RunEvidence,
    metric::{Metric, Stat},
    moment::Moment,
    report::StageRow,
    request::{Fate, Request},
    span::Stage,
};
use firstcheck_stats::{design::Design, paired};

/// What one total of one pair splits into, in seconds.
#[derive(Debug, Clone)]
pub(super) struct Split {
    /// `ttft mean`, `e2e p95`.
    pub of: String,
    /// `spans` or `histogram means`.
    pub basis: &'static str,
    /// Stage, base's part, candidate's part; they add up to the totals.
    pub stages: Vec<(&'static str, f64, f64)>,
}

/// What the stages leave of the total.
pub(super) const REST: &str = "rest";

const SPANS: &str = "spans";
const HISTOGRAMS: &str = "histogram means";

/// A run as it was read.
type Side<'a> = (&'a Reading, &'a Columns);

/// All splits that the evidence of a pair allows.
pub(super) fn splits(base: Side, candidate: Side, keys: &[Key], same: bool, policy: &Policy) -> Vec<Split> {
    let mut all = Vec::new();
    for metric in [Metric::Ttft, Metric::E2e] {
        all.extend(of_means(base.0, candidate.0, keys, metric));
    }
    for metric in [Metric::Ttft, Metric::E2e] {
        let (Some(b), Some(c)) = (base.1.stages.get(metric), candidate.1.stages.get(metric)) else { continue };
        if same {
            all.extend(of_spans(b, c, format!("{metric} mean"), mean_parts));
        }
        for p in [0.5, 0.95] {
            let name = format!("{metric} {}", Stat::Quantile(p));
            all.extend(of_spans(b, c, name, |parts, _| at_quantile(parts, p, policy.split_half_width)));
        }
    }
    all
}

/// The engine's own means (growth of sums over growth of counts) with what they leave of the client's mean.
fn of_means(base: &Reading, candidate: &Reading, keys: &[Key], metric: Metric) -> Option<Split> {
    let value = |reading: &Reading, metric: Metric| {
        let at = keys.iter().position(|key| *key == Key { metric, stat: Stat::Mean })?;
        reading.cells[at].value.filter(|v| v.is_finite())
    };
    let both = |metric| value(base, metric).zip(value(candidate, metric));
    let mut stages = vec![("queue", both(Metric::QueueTime)?), ("prefill", both(Metric::PrefillTime)?)];
    if metric == Metric::E2e {
        // Queue ends at the first scheduling: the wait of a preempted request lies in here.
        stages.push(("decode incl. preemption", both(Metric::DecodeTime)?));
    }
    let total = both(metric)?;
    let sum = stages.iter().fold((0.0, 0.0), |sum, (_, part)| (sum.0 + part.0, sum.1 + part.1));
    stages.push((REST, (total.0 - sum.0, total.1 - sum.1)));
    let stages = stages.into_iter().map(|(name, (b, c))| (name, b, c)).collect();
    Some(Split { of: format!("{metric} mean"), basis: HISTOGRAMS, stages })
}

/// One request: its total and what of it each stage took; `None` where it did not complete.
type Parts = Option<(f64, [f64; Stage::ALL.len()])>;

/// Stage times of each request of the window, clipped to the span from its origin to its first (TTFT) or last (E2E)
/// token; `None` where spans are missing for too many of the completed requests.
#[derive(Debug, Clone, Default)]
pub(super) struct StageTimes {
    ttft: Option<Vec<Parts>>,
    e2e: Option<Vec<Parts>>,
}

impl StageTimes {
    /// The stage times of a run.
    pub fn of(run: &RunEvidence, policy: &Policy) -> Self {
        if run.spans.is_empty() {
            return Self::default();
        }
        Self { ttft: parts(run, Metric::Ttft, policy), e2e: parts(run, Metric::E2e, policy) }
    }

    fn get(&self, metric: Metric) -> Option<&[Parts]> {
        if metric == Metric::Ttft { self.ttft.as_deref() } else { self.e2e.as_deref() }
    }
}

fn parts(run: &RunEvidence, metric: Metric, policy: &Policy) -> Option<Vec<Parts>> {
    let rows = run.requests.len();
    let (mut times, mut seen) = (vec![[0.0; Stage::ALL.len()]; rows], vec![false; rows]);
    for span in &run.spans {
        let row = span.request as usize;
        let (Some(times), Some(request)) = (times.get_mut(row), run.requests.0.get(row)) else { continue };
        seen[row] = true;
        let (Some(stage), Some(end)) = (Stage::ALL.iter().position(|s| *s == span.stage), until(request, metric))
        else {
            continue;
        };
        let from = span.start.max(request.origin());
        times[stage] += span.end.min(end).since(from).map_or(0.0, |s| s.0.max(0.0));
    }
    let of_row = |(row, request): (usize, &Request)| {
        let complete = request.fate == Fate::Completed && seen[row];
        let total = until(request, metric).filter(|_| complete)?.since(request.origin())?.0;
        Some((total, times[row]))
    };
    let parts: Vec<Parts> = run.window().map(of_row).collect();
    let complete = run.window().filter(|(_, r)| r.fate == Fate::Completed).count() as f64;
    let known = parts.iter().flatten().count() as f64;
    (known > 0.0 && known >= policy.span_coverage * complete).then_some(parts)
}

fn until(request: &Request, metric: Metric) -> Option<Moment> {
    let end = if metric == Metric::Ttft { request.first_token } else { request.last_token };
    end.reached().then_some(end)
}

/// Mean total and stage means.
type Means = (f64, [f64; Stage::ALL.len()]);

fn of_spans(
    base: &[Parts],
    candidate: &[Parts],
    of: String,
    take: impl Fn(&[Parts], &[Parts]) -> Option<Means>,
) -> Option<Split> {
    let (b, c) = (take(base, candidate)?, take(candidate, base)?);
    let mut stages = Vec::new();
    for (at, stage) in Stage::ALL.iter().enumerate() {
        if b.1[at] != 0.0 || c.1[at] != 0.0 {
            stages.push((stage.name(), b.1[at], c.1[at]));
        }
    }
    let rest = |means: &Means| means.0 - means.1.iter().sum::<f64>();
    stages.push((REST, rest(&b), rest(&c)));
    Some(Split { of, basis: SPANS, stages })
}

/// Means over the requests that completed on both sides of one trace.
fn mean_parts(ours: &[Parts], theirs: &[Parts]) -> Option<Means> {
    let both = ours.iter().zip(theirs).filter_map(|(ours, theirs)| ours.filter(|_| theirs.is_some()));
    weighted(both.map(|parts| (1.0, parts)))
}

/// E[stage | total = q_p]: a triangular kernel on the rank of the total, unanswered requests ranking last.
fn at_quantile(all: &[Parts], p: f64, half_width: f64) -> Option<Means> {
    let n = all.len() as f64;
    let mut ranked: Vec<Means> = all.iter().copied().flatten().collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    // At least the nearest request has to lie inside.
    let half = half_width.max(1.0 / n);
    let weight = |rank: usize| 1.0 - ((rank as f64 + 0.5) / n - p).abs() / half;
    // A quantile among the unanswered has no stages.
    if ranked.len() as f64 <= p * n {
        return None;
    }
    weighted(ranked.into_iter().enumerate().map(|(rank, parts)| (weight(rank), parts)).filter(|(w, _)| *w > 0.0))
}

fn weighted(parts: impl Iterator<Item = (f64, Means)>) -> Option<Means> {
    let (mut weights, mut total, mut stages) = (0.0, 0.0, [0.0; Stage::ALL.len()]);
    for (w, (t, s)) in parts {
        weights += w;
        total += w * t;
        stages.iter_mut().zip(s).for_each(|(sum, s)| *sum += w * s);
    }
    (weights > 0.0).then(|| (total / weights, stages.map(|s| s / weights)))
}

/// The splits of all pairs as rows: means over the pairs with a t interval of the delta.
///
/// A split counts only where every pair has it: one that is missing somewhere would mix different pairs in one sum.
pub(super) fn rows(pairs: &[&[Split]], confidence: f64) -> Vec<StageRow> {
    let Some((first, _)) = pairs.split_first() else { return Vec::new() };
    let mut rows = Vec::new();
    for split in *first {
        let same: Vec<&Split> =
            pairs.iter().filter_map(|all| all.iter().find(|s| s.of == split.of && s.basis == split.basis)).collect();
        if same.len() == pairs.len() {
            rows.extend(of_split(&same, confidence));
        }
    }
    rows
}

fn of_split(pairs: &[&Split], confidence: f64) -> Vec<StageRow> {
    let mut names: Vec<&'static str> = Vec::new();
    for (name, ..) in pairs.iter().flat_map(|split| &split.stages) {
        if *name != REST && !names.contains(name) {
            names.push(name);
        }
    }
    names.push(REST);
    // A stage that a pair's spans do not have took no time there: the rest closes its sum.
    let part = |split: &Split, name: &str| {
        split.stages.iter().find(|(stage, ..)| *stage == name).map_or((0.0, 0.0), |(_, b, c)| (*b, *c))
    };
    let total: f64 = pairs.iter().flat_map(|s| &s.stages).map(|(_, b, c)| c - b).sum::<f64>() / pairs.len() as f64;
    let row = |name: &'static str| {
        let parts: Vec<(f64, f64)> = pairs.iter().map(|split| part(split, name)).collect();
        let deltas: Vec<f64> = parts.iter().map(|(b, c)| c - b).collect();
        let delta = mean(&deltas)?;
        let fitted = Design::plain(deltas.len()).and_then(|d| paired::estimate(&d, &deltas)?.interval(confidence));
        Some(StageRow {
            stage: name.into(),
            of: pairs.first()?.of.clone(),
            base: mean(&parts.iter().map(|p| p.0).collect::<Vec<_>>()),
            candidate: mean(&parts.iter().map(|p| p.1).collect::<Vec<_>>()),
            delta,
            interval: fitted.ok().map(|interval| [interval.lo, interval.hi]),
            unit: "s".into(),
            share: (total.abs() > 0.0).then(|| delta / total),
            basis: pairs.first()?.basis.into(),
        })
    };
    names.into_iter().filter_map(row).collect()
}
