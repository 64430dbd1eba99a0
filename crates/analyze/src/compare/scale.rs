//! On which scale a metric's differences lie, and how they read as ratios or points.

use super::{
    plan::Key,
    rows::{annotate, worse_sign},
    view::View,
};
use firstcheck_model::{
    metric::Metric,
    report::{MetricRow, Quantity},
};
use firstcheck_stats::{
    goodput::{Counts, Level},
    mde,
    paired::PairedEstimate,
    ratio::{LogRatio, log_ratio},
};

/// One number a pair, worse positive.
pub(super) enum Differences {
    /// On the metric's scale.
    Finite(Vec<f64>),
    /// Some reach unanswered requests.
    Unbounded,
    /// The candidate served nothing well in any pair, base did.
    NoneGood,
    /// A value is missing, or has no logarithm.
    Undefined,
}

impl Differences {
    /// Candidate against base in each pair.
    pub fn of(key: Key, at: usize, views: &[View]) -> Self {
        match key.metric {
            Metric::GoodShare => Self::of_good(views),
            Metric::FailedShare => Self::of_each(views, |view| {
                let share = |cells: &[super::reading::Cell]| cells[at].value;
                Some(share(view.candidate.cells)? - share(view.base.cells)?)
            }),
            // A count that may be zero: half a one is added to both.
            Metric::Preemptions => Self::of_each(views, |view| {
                let log =
                    |cells: &[super::reading::Cell]| cells[at].value.filter(|v| v.is_finite()).map(|v| (v + 0.5).ln());
                Some(log(view.candidate.cells)? - log(view.base.cells)?)
            }),
            _ => Self::of_ratios(key, at, views),
        }
    }

    fn of_each(views: &[View], difference: impl Fn(&View) -> Option<f64>) -> Self {
        views.iter().map(difference).collect::<Option<Vec<f64>>>().map_or(Self::Undefined, Self::Finite)
    }

    fn of_good(views: &[View]) -> Self {
        let counts: Option<Vec<(Counts, Counts)>> =
            views.iter().map(|view| view.base.good.zip(view.candidate.good)).collect();
        let Some(counts) = counts else { return Self::Undefined };
        let none = |share: fn(&(Counts, Counts)) -> Counts| counts.iter().all(|pair| share(pair).share() == 0.0);
        match (none(|pair| pair.0), none(|pair| pair.1)) {
            (true, true) => Self::Undefined,
            (false, true) => Self::NoneGood,
            _ => Self::Finite(counts.iter().map(|(b, c)| b.logit() - c.logit()).collect()),
        }
    }

    fn of_ratios(key: Key, at: usize, views: &[View]) -> Self {
        let of_pair = |view: &View| match (view.base.cells[at].value, view.candidate.cells[at].value) {
            (Some(b), Some(c)) => log_ratio(b, c),
            _ => LogRatio::Undefined,
        };
        let ratios: Vec<LogRatio> = views.iter().map(of_pair).collect();
        let finite: Vec<f64> = ratios.iter().filter_map(|r| r.finite()).map(|d| worse_sign(key.metric) * d).collect();
        if finite.len() == ratios.len() {
            Self::Finite(finite)
        } else if ratios.iter().any(|r| matches!(r, LogRatio::Undefined)) {
            Self::Undefined
        } else {
            Self::Unbounded
        }
    }
}

/// The scale of the differences, and back to what a reader knows.
pub(super) enum Scale {
    /// Log ratios; the sign makes worse positive.
    Log(f64),
    /// Logits at base's level.
    Logit(Level),
    /// Points of a share, which may be zero on base.
    Points,
}

impl Scale {
    /// The scale of that metric over these pairs.
    pub fn of(key: Key, views: &[View]) -> Self {
        let counts: Vec<Counts> = views.iter().filter_map(|view| view.base.good).collect();
        match (key.metric, Level::of(&counts)) {
            (Metric::GoodShare, Some(level)) => Self::Logit(level),
            (Metric::FailedShare, _) => Self::Points,
            _ => Self::Log(worse_sign(key.metric)),
        }
    }

    /// The margin on the scale of the differences.
    pub fn margin(&self, margin: f64) -> Option<f64> {
        match self {
            Self::Log(_) => Some(margin.ln_1p()),
            Self::Logit(level) => level.difference(margin),
            Self::Points => Some(margin),
        }
    }

    /// A worsening on the scale of the differences as a relative one; of points in points.
    pub fn relative(&self, difference: f64) -> f64 {
        match self {
            Self::Log(_) => difference.exp_m1(),
            Self::Logit(level) => level.points(difference) / level.share(),
            Self::Points => difference,
        }
    }

    /// candidate / base at a worse-positive difference; `None` where the scale has none.
    fn ratio(&self, difference: f64) -> Option<f64> {
        match self {
            Self::Log(sign) => Some((sign * difference).exp()),
            Self::Logit(level) => Some(1.0 - level.points(difference) / level.share()),
            Self::Points => None,
        }
    }

    /// A worse-positive difference as points of the share, which a higher value adds to.
    fn points(&self, difference: f64) -> Option<f64> {
        // Rounded first: a small negative number would be shown as −0.00.
        let round = |points: f64| (points * 1e4).round() / 1e2 + 0.0;
        match self {
            Self::Log(_) => None,
            Self::Logit(level) => Some(round(-level.points(difference))),
            Self::Points => Some(round(difference)),
        }
    }

    /// Ratio, interval and smallest detectable difference of a row.
    pub fn fill(&self, row: &mut MetricRow, estimate: &PairedEstimate, alpha: f64) {
        let confidence = 1.0 - 2.0 * alpha;
        let interval = estimate.interval(confidence).ok();
        if let Some(ratio) = self.ratio(estimate.effect.delta) {
            row.ratio = Quantity::of(ratio);
        }
        if let Some((a, b)) = interval.and_then(|i| self.ratio(i.lo).zip(self.ratio(i.hi))) {
            row.interval = Quantity::of(a.min(b)).zip(Quantity::of(a.max(b))).map(|(lo, hi)| [lo, hi]);
            row.confidence = row.interval.map(|_| confidence);
        }
        let log_mde = mde::log_mde(estimate.s_d, estimate.pairs, estimate.covariates).ok();
        row.mde = log_mde.map(|d| self.relative(d)).filter(|mde| *mde >= 0.0);
        let points = |d: f64| self.points(d);
        if let (Some(middle), Some((a, b))) =
            (points(estimate.effect.delta), interval.and_then(|i| points(i.lo).zip(points(i.hi))))
        {
            annotate(row, format!("{middle:+.2} points [{:+.2}, {:+.2}]", a.min(b), a.max(b)));
        }
    }
}
