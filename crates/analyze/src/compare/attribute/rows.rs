//! Splits of pairs as rows of a report.

use super::{
    super::{plan::Key, policy::Policy, reading::mean},
    SPLIT, Split, Splits,
};
use firstcheck_model::{
    evidence::Kind,
    metric::{Metric, Stat},
    report::{Claim, MetricRow, StageRow},
    span::Stage,
};
use firstcheck_stats::{design::Design, estimate::Interval, paired, resample};

/// What the stages leave of the total.
const UNEXPLAINED: &str = "unexplained";

/// A total that nothing splits.
const NOT_OBSERVABLE: &str = "not observable";

/// Where rows stand.
pub(in super::super) struct Scope<'a> {
    /// What the comparison says of the metrics: quantiles that did not move are not split.
    pub metrics: &'a [MetricRow],
    /// Whose rows of them count; `None` without cells.
    pub cell: Option<&'a str>,
    /// Confidence of intervals.
    pub confidence: f64,
    pub policy: &'a Policy,
}

/// The splits of all pairs: means over the pairs, with an interval of the delta.
///
/// A split counts only where every pair has it: one that is missing somewhere would mix different pairs in one sum.
pub(in super::super) fn rows(pairs: &[&Splits], scope: &Scope) -> Vec<StageRow> {
    let Some(first) = pairs.first() else { return Vec::new() };
    let mut rows = Vec::new();
    for split in first.all.iter().filter(|split| scope.asks(split.of)) {
        let same = |all: &&Splits| all.all.iter().find(|s| s.of == split.of && s.basis == split.basis).cloned();
        let of_pairs: Vec<Split> = pairs.iter().filter_map(same).collect();
        if of_pairs.len() == pairs.len() {
            rows.extend(of_split(&of_pairs, scope));
        }
    }
    let unseen = SPLIT.into_iter().filter_map(|metric| scope.unseen(metric, &rows, pairs));
    let unseen: Vec<StageRow> = unseen.collect();
    rows.extend(unseen);
    rows
}

impl Scope<'_> {
    fn row(&self, of: Key) -> Option<&MetricRow> {
        let stat = of.stat.to_string();
        let whole = |row: &&MetricRow| row.slice.is_none() && row.cell.as_deref() == self.cell;
        self.metrics.iter().filter(whole).find(|row| row.metric == of.metric && row.stat == stat)
    }

    /// Whether a split is worth its lines: a mean always, a quantile where it moved, or where nothing says whether it did.
    fn asks(&self, of: Key) -> bool {
        if of.stat == Stat::Mean {
            return true;
        }
        let Some(row) = self.row(of) else { return false };
        match row.claim {
            Claim::Regressed | Claim::RegressedWithinMargin | Claim::Improved => true,
            Claim::NotClaimable | Claim::NotComparable => false,
            _ => row.interval.is_none_or(|[low, high]| {
                !(low.finite().is_some_and(|low| low <= 1.0) && high.finite().is_none_or(|high| high >= 1.0))
            }),
        }
    }

    /// A total that got worse and that nothing splits: one row that says so, for its worst statistic.
    fn unseen(&self, metric: Metric, rows: &[StageRow], pairs: &[&Splits]) -> Option<StageRow> {
        let worse = |stat: &Stat| {
            let row = self.row(Key { metric, stat: *stat })?;
            matches!(row.claim, Claim::Regressed | Claim::RegressedWithinMargin).then_some(row)
        };
        let stats = [0.95, 0.99, 0.5].map(Stat::Quantile);
        let stats = stats.into_iter().chain([Stat::Mean]);
        let (stat, row) = stats.filter_map(|stat| Some((stat, worse(&stat)?))).next()?;
        let of = format!("{metric} {stat}");
        if rows.iter().any(|row| row.of == of) {
            return None;
        }
        let (base, candidate) = (row.base?.finite(), row.candidate?.finite());
        let lacking = |why: fn(&Splits) -> Option<&String>| pairs.iter().find_map(|splits| why(splits)).cloned();
        let spans = lacking(|splits| splits.no_spans.as_ref())
            .unwrap_or_else(|| "the quantile reaches requests that were not answered, or too few have spans".into());
        let means = lacking(|splits| splits.no_means.as_ref()).filter(|_| stat == Stat::Mean);
        let means = means.map_or(String::new(), |why| format!("; {why}"));
        Some(StageRow {
            stage: UNEXPLAINED.into(),
            contains: Vec::new(),
            of,
            base,
            candidate,
            delta: candidate.zip(base).map(|(candidate, base)| candidate - base)?,
            interval: None,
            unit: "s".into(),
            share: None,
            basis: NOT_OBSERVABLE.into(),
            note: Some(format!("{spans}{means}: {}", Kind::Spans.obtain())),
        })
    }

    /// The interval of a mean over pairs: of means exactly, of quantiles by resampling pairs, since a stage's part at a
    /// quantile is skewed. Too few pairs to resample leave the t interval.
    fn interval(&self, deltas: &[f64], stat: Stat) -> Option<Interval> {
        let resamples = self.policy.resamples as usize;
        let resampled = match stat {
            Stat::Quantile(_) => resample::mean_interval(deltas, self.confidence, resamples, self.policy.seed).ok(),
            _ => None,
        };
        resampled.or_else(|| {
            let design = Design::plain(deltas.len()).ok()?;
            paired::estimate(&design, deltas).ok()?.interval(self.confidence).ok()
        })
    }

    /// Whether a change is large enough to be divided into shares: its interval leaves out zero or, where there is none,
    /// it is more than a little.
    fn divides(&self, base: f64, deltas: &[f64], stat: Stat) -> bool {
        match self.interval(deltas, stat) {
            Some(interval) => !interval.contains(0.0),
            None => mean(deltas).is_some_and(|delta| delta.abs() > self.policy.share_floor * base.abs()),
        }
    }
}

/// Base's and candidate's part in each pair.
struct Parts(Vec<(f64, f64)>);

impl Parts {
    fn deltas(&self) -> Vec<f64> {
        self.0.iter().map(|(base, candidate)| candidate - base).collect()
    }

    fn mean(&self, side: impl Fn(&(f64, f64)) -> f64) -> Option<f64> {
        mean(&self.0.iter().map(side).collect::<Vec<_>>())
    }
}

fn of_split(pairs: &[Split], scope: &Scope) -> Vec<StageRow> {
    let Some(first) = pairs.first() else { return Vec::new() };
    let stages =
        Stage::ALL.iter().filter(|stage| pairs.iter().any(|split| split.stages.iter().any(|s| s.0 == **stage)));
    let totals = Parts(pairs.iter().map(|split| split.total).collect());
    let divides = totals.mean(|part| part.0).is_some_and(|base| scope.divides(base, &totals.deltas(), first.of.stat));
    let total = mean(&totals.deltas()).filter(|total| divides && *total != 0.0);
    let row = |name: &str, contains: &[Stage], parts: &Parts| {
        let deltas = parts.deltas();
        let delta = mean(&deltas)?;
        Some(StageRow {
            stage: name.into(),
            contains: contains.iter().map(|stage| stage.name().to_owned()).collect(),
            of: format!("{} {}", first.of.metric, first.of.stat),
            base: parts.mean(|part| part.0),
            candidate: parts.mean(|part| part.1),
            delta,
            interval: scope.interval(&deltas, first.of.stat).map(|interval| [interval.lo, interval.hi]),
            unit: "s".into(),
            share: total.map(|total| delta / total),
            basis: first.basis.name().into(),
            note: None,
        })
    };
    let of_stage = |stage: Stage| {
        // A stage that a pair does not have took no time there.
        let part = |split: &Split| split.stages.iter().find(|s| s.0 == stage).map_or((0.0, 0.0), |s| (s.1, s.2));
        row(stage.label(), stage.contains(), &Parts(pairs.iter().map(part).collect()))
    };
    let left = |split: &Split| {
        let sum = split.stages.iter().fold((0.0, 0.0), |sum, (_, base, candidate)| (sum.0 + base, sum.1 + candidate));
        (split.total.0 - sum.0, split.total.1 - sum.1)
    };
    let left = Parts(pairs.iter().map(left).collect());
    let mut rows: Vec<StageRow> = stages.filter_map(|stage| of_stage(*stage)).collect();
    // Sums of floating-point numbers leave crumbs.
    let crumb =
        1e-9 * totals.0.iter().fold(0.0_f64, |most, (base, candidate)| most.max(base.abs()).max(candidate.abs()));
    let matters = left.0.iter().any(|(base, candidate)| base.abs() > crumb || candidate.abs() > crumb);
    rows.extend(matters.then(|| row(UNEXPLAINED, &[], &left)).flatten());
    rows
}
