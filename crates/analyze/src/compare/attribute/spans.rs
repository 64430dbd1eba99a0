//! Splits by the spans of the same requests.

use super::{
    super::{plan::Key, policy::Policy},
    Basis, SPLIT, Split,
    timeline::{Painted, STAGES, paint},
};
use firstcheck_model::{
    evidence::RunEvidence,
    metric::Metric,
    request::{Fate, Request},
    span::{Stage, StageSpan},
};
use firstcheck_stats::quantile::rank;

/// A request as a split sees it.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Line {
    /// It was not answered in full: its latency is `+∞`.
    Unanswered,
    /// It was, and has no such latency or no spans.
    Without,
    /// Its latency with its stages.
    Painted(Painted),
}

/// Stage times of each request of a window, where there are spans for enough of the completed ones.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct StageTimes {
    metrics: Vec<(Metric, Vec<Line>)>,
    /// Share of the completed requests that have spans; `None`: the run has no spans at all.
    covered: Option<f64>,
    needed: f64,
}

impl StageTimes {
    /// The stage times of a run.
    pub fn of(run: &RunEvidence, policy: &Policy) -> Self {
        if run.spans.is_empty() {
            return Self::default();
        }
        let mut sorted: Vec<&StageSpan> = run.spans.iter().collect();
        sorted.sort_by_key(|span| (span.request, span.start, span.stage));
        let mut of_row: Vec<&[&StageSpan]> = vec![&[]; run.requests.len()];
        for spans in sorted.chunk_by(|one, other| one.request == other.request) {
            // A span of a row that the run does not have belongs to nobody.
            if let Some(row) = spans.first().and_then(|span| of_row.get_mut(span.request as usize)) {
                *row = spans;
            }
        }
        let completed = || run.window().filter(|(_, request)| request.fate == Fate::Completed);
        let (all, seen) = (completed().count(), completed().filter(|(row, _)| !of_row[*row].is_empty()).count());
        let covered = if all == 0 { 0.0 } else { seen as f64 / all as f64 };
        let mut times = Self { metrics: Vec::new(), covered: Some(covered), needed: policy.span_coverage };
        if seen > 0 && covered >= policy.span_coverage {
            let lines = |metric| run.window().map(|(row, request)| line(request, of_row[row], metric)).collect();
            times.metrics = SPLIT.into_iter().map(|metric| (metric, lines(metric))).collect();
        }
        times
    }

    /// The requests of the window, in the order of the plan.
    pub(super) fn get(&self, metric: Metric) -> Option<&[Line]> {
        self.metrics.iter().find(|(known, _)| *known == metric).map(|(_, lines)| &lines[..])
    }

    /// What `side` lacks for a split by spans; `None`: nothing.
    pub(super) fn lacking(&self, side: &str) -> Option<String> {
        match self.covered {
            None => Some(format!("{side} has no spans of its requests")),
            Some(covered) if self.metrics.is_empty() => Some(format!(
                "{:.0} % of the completed requests of {side} have spans, {:.0} % are needed",
                covered * 100.0,
                self.needed * 100.0
            )),
            Some(_) => None,
        }
    }
}

fn line(request: &Request, spans: &[&StageSpan], metric: Metric) -> Line {
    match paint(request, spans, metric) {
        _ if request.fate != Fate::Completed => Line::Unanswered,
        Some(painted) if !spans.is_empty() => Line::Painted(painted),
        _ => Line::Without,
    }
}

/// Means over the requests that both sides answered and have spans of.
pub(super) fn of_mean(base: &[Line], candidate: &[Line], of: Key) -> Option<Split> {
    let both = || {
        base.iter().zip(candidate).filter_map(|pair| match pair {
            (Line::Painted(base), Line::Painted(candidate)) => Some((*base, *candidate)),
            _ => None,
        })
    };
    let b = weighted(both().map(|(base, _)| (1.0, base)))?;
    let c = weighted(both().map(|(_, candidate)| (1.0, candidate)))?;
    Some(split(of, (b.total, c.total), &b, &c))
}

/// The conditional split: the quantile itself, and the mean stages of the requests around it.
pub(super) fn at_quantile(base: &[Line], candidate: &[Line], of: Key, p: f64, half_width: f64) -> Option<Split> {
    let ((b, b_mean), (c, c_mean)) = (around(base, p, half_width)?, around(candidate, p, half_width)?);
    Some(split(of, (b, c), &b_mean, &c_mean))
}

/// The quantile (no interpolation) and E[stage | total = q_p]: a triangular kernel on the rank of the total, unanswered
/// requests ranking last. A quantile among these has no stages.
fn around(lines: &[Line], p: f64, half_width: f64) -> Option<(f64, Painted)> {
    let unanswered = lines.iter().filter(|line| matches!(line, Line::Unanswered)).count();
    let painted = lines.iter().filter_map(|line| match line {
        Line::Painted(painted) => Some(*painted),
        _ => None,
    });
    let mut ranked: Vec<Painted> = painted.collect();
    ranked.sort_by(|a, b| a.total.total_cmp(&b.total));
    let n = ranked.len() + unanswered;
    let quantile = ranked.get(rank(n, p)? - 1)?.total;
    let n = n as f64;
    // At least the nearest request has to lie inside.
    let half = half_width.max(1.0 / n);
    let weight = |place: usize| 1.0 - ((place as f64 + 0.5) / n - p).abs() / half;
    let inside = ranked.into_iter().enumerate().map(|(place, painted)| (weight(place), painted));
    Some((quantile, weighted(inside.filter(|(weight, _)| *weight > 0.0))?))
}

fn split(of: Key, total: (f64, f64), base: &Painted, candidate: &Painted) -> Split {
    let parts = Stage::ALL.iter().map(|stage| (*stage, base.parts[*stage as usize], candidate.parts[*stage as usize]));
    let stages = parts.filter(|(_, base, candidate)| *base != 0.0 || *candidate != 0.0).collect();
    Split { of, basis: Basis::Spans, total, stages }
}

fn weighted(all: impl Iterator<Item = (f64, Painted)>) -> Option<Painted> {
    let (mut weights, mut mean) = (0.0, Painted { total: 0.0, parts: [0.0; STAGES] });
    for (weight, painted) in all {
        weights += weight;
        mean.total += weight * painted.total;
        mean.parts.iter_mut().zip(painted.parts).for_each(|(sum, part)| *sum += weight * part);
    }
    let parts = mean.parts.map(|part| part / weights);
    (weights > 0.0).then_some(Painted { total: mean.total / weights, parts })
}
