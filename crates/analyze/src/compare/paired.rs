//! Pairs of runs: the effect over pairs, held against its margin.

use super::{
    pair::Pair,
    plan::{Key, holds_the_queue, is_latency},
    policy::{Gate, Policy},
    reading::{Cell, Reading},
    rows::{annotate, restraint, shown, worse_sign},
};
use firstcheck_model::{
    metric::{Metric, Stat},
    report::{Claim, MetricRow, Quantity},
};
use firstcheck_stats::{
    Error,
    design::{Code, Design},
    goodput::{Counts, Level},
    mde::{self, PairPlan},
    paired::{self, PairedEstimate},
    ratio::{LogRatio, log_ratio},
};

/// The design that all pairs share.
pub(super) struct Setting {
    pub alpha: f64,
    /// Why what holds the queue cannot pass; `None`: it can.
    pub queue_cannot_pass: Option<String>,
}

/// A row on its way to its claim.
pub(super) struct Judged {
    pub row: MetricRow,
    pub gate: Option<Gate>,
    /// What a gate still has to decide; `None`: it is decided, or cannot be.
    pub open: Option<Open>,
    /// Whether the gate is met.
    pub passes: bool,
}

/// A gated effect with its differences.
pub(super) struct Open {
    /// Positions of the pairs behind it.
    pub pairs: Vec<usize>,
    /// Worse positive.
    pub differences: Vec<f64>,
    /// On their scale.
    pub margin: f64,
    estimate: PairedEstimate,
}

/// Order and device as covariates over those pairs.
pub(super) fn design(pairs: &[&Pair]) -> Result<Design, Error> {
    let orders: Option<Vec<Code>> = pairs.iter().map(|pair| pair.order()).collect();
    let devices: Option<Vec<Code>> = pairs.iter().map(|pair| pair.device()).collect();
    let covariates: Vec<&[Code]> = [&orders, &devices].into_iter().filter_map(|c| c.as_deref()).collect();
    Design::new(pairs.len(), &covariates)
}

/// A metric over all pairs: shown with its interval, and made ready for the gate.
pub(super) fn effect(key: Key, at: usize, all: &[&Pair], setting: &Setting, policy: &Policy) -> Judged {
    // A pair in which the metric may not be believed says nothing of it; the others do.
    let usable: Vec<usize> = (0..all.len()).filter(|k| all[*k].doubt(at).is_none()).collect();
    let pairs: Vec<&Pair> = if usable.len() < 2 { all.to_vec() } else { usable.iter().map(|k| all[*k]).collect() };
    let cells = |candidate: bool| -> Vec<&Cell> {
        pairs.iter().map(|p| &if candidate { &p.candidate } else { &p.base }.cells[at]).collect()
    };
    let mut row = shown(key, &cells(false), &cells(true));
    row.exploratory = false;
    row.pairs = pairs.len() as u64;
    let gate = policy.gate(key.metric, key.stat).copied();
    row.margin = gate.filter(|g| g.metric != Metric::GoodShare).map(|g| g.margin);
    if usable.len() < all.len() && usable.len() >= 2 {
        let why = all.iter().find_map(|pair| pair.doubt(at)).unwrap_or("in doubt");
        annotate(&mut row, format!("{} of {} pairs left out: {why}", all.len() - usable.len(), all.len()));
    }
    let mut judged = Judged { row, gate, open: None, passes: false };
    if let Some(restraint) = restraint(key, at, &pairs, policy) {
        judged.row.claim = restraint.claim;
        annotate(&mut judged.row, restraint.why);
        return judged;
    }
    match differences(key, at, &pairs) {
        Differences::Finite(differences) => {
            fit(&mut judged, key, &pairs, usable, differences, setting, policy);
        }
        Differences::Unbounded => unbounded(&mut judged, key, &pairs, policy),
        Differences::NoneGood => {
            judged.row.claim = Claim::Regressed;
            annotate(&mut judged.row, "the candidate served no request within the SLO");
        }
        Differences::Undefined => {
            if judged.gate.is_some() {
                judged.row.claim = Claim::Inconclusive;
                annotate(&mut judged.row, "a value is missing or zero, so there is no ratio");
            }
        }
    }
    judged
}

/// One number a pair.
pub(super) enum Differences {
    /// Worse positive.
    Finite(Vec<f64>),
    /// Some reach unanswered requests.
    Unbounded,
    /// The candidate served nothing well in any pair, base did.
    NoneGood,
    /// No logarithm.
    Undefined,
}

pub(super) fn differences(key: Key, at: usize, pairs: &[&Pair]) -> Differences {
    if key.metric == Metric::GoodShare {
        let counts: Option<Vec<(Counts, Counts)>> = pairs.iter().map(|p| p.base.good.zip(p.candidate.good)).collect();
        let Some(counts) = counts else { return Differences::Undefined };
        let none = |share: fn(&(Counts, Counts)) -> Counts| counts.iter().all(|pair| share(pair).share() == 0.0);
        return match (none(|pair| pair.0), none(|pair| pair.1)) {
            (true, true) => Differences::Undefined,
            (false, true) => Differences::NoneGood,
            _ => Differences::Finite(counts.iter().map(|(b, c)| b.logit() - c.logit()).collect()),
        };
    }
    let of_pair = |pair: &&Pair| match (pair.base.cells[at].value, pair.candidate.cells[at].value) {
        (Some(b), Some(c)) => log_ratio(b, c),
        _ => LogRatio::Undefined,
    };
    let ratios: Vec<LogRatio> = pairs.iter().map(of_pair).collect();
    let finite: Vec<f64> = ratios.iter().filter_map(|r| r.finite()).map(|d| worse_sign(key.metric) * d).collect();
    if finite.len() == ratios.len() {
        Differences::Finite(finite)
    } else if ratios.iter().any(|r| matches!(r, LogRatio::Undefined)) {
        Differences::Undefined
    } else {
        Differences::Unbounded
    }
}

/// The quantile reaches unanswered requests in some pair: the shares over all pairs decide.
fn unbounded(judged: &mut Judged, key: Key, pairs: &[&Pair], policy: &Policy) {
    let Stat::Quantile(p) = key.stat else { return };
    let share = |candidate: bool| {
        let sides = pairs.iter().map(|pair| if candidate { &pair.candidate } else { &pair.base });
        let (lost, offered) = sides.fold((0, 0), |sum, side| (sum.0 + side.unanswered, sum.1 + side.offered));
        (lost, offered, offered > 0 && lost as f64 >= (1.0 - p) * offered as f64)
    };
    let (base, candidate) = (share(false), share(true));
    let row = &mut judged.row;
    let gated = judged.gate.is_some();
    let text = |(lost, offered, _): (u64, u64, bool)| format!("{lost} of {offered}");
    let shares = format!("base left {} requests unanswered, the candidate {}", text(base), text(candidate));
    annotate(row, &shares);
    row.claim = match (base.2, candidate.2, gated) {
        (_, _, false) => Claim::Shown,
        (false, true, _) => Claim::Regressed,
        (true, false, _) if pairs.len() >= policy.min_pairs as usize => Claim::Improved,
        _ => Claim::Inconclusive,
    };
}

fn fit(
    judged: &mut Judged,
    key: Key,
    pairs: &[&Pair],
    usable: Vec<usize>,
    differences: Vec<f64>,
    setting: &Setting,
    policy: &Policy,
) {
    let estimate = match design(pairs).and_then(|design| paired::estimate(&design, &differences)) {
        Ok(estimate) => estimate,
        Err(error) => {
            judged.row.claim = if judged.gate.is_some() { Claim::Inconclusive } else { Claim::Shown };
            annotate(&mut judged.row, format!("no interval: {error}"));
            return;
        }
    };
    let scale = Scale::of(key, pairs);
    scale.fill(&mut judged.row, &estimate, setting.alpha);
    if estimate.effect.identical && estimate.effect.delta == 0.0 {
        annotate(&mut judged.row, "identical in every pair");
    }
    let Some(gate) = &judged.gate else { return };
    let Some(margin) = scale.margin(gate.margin) else {
        judged.row.claim = Claim::Inconclusive;
        annotate(&mut judged.row, "base's own share leaves no room for the margin");
        return;
    };
    judged.row.margin = Some(scale.relative(margin));
    let unserved = served_less(pairs, policy).filter(|_| is_latency(key.metric));
    judged.decide_pass(&estimate, margin, held_back(key, unserved, setting), setting.alpha, policy);
    judged.open = Some(Open { pairs: usable, differences, margin, estimate });
}

/// Why a metric cannot pass, whatever its interval.
enum Held {
    /// It can.
    Free,
    /// It holds the queue, and the design does not allow to speak of that.
    Queue(String),
    /// The candidate served less, so that what it served may well be faster.
    Unserved(String),
}

fn held_back(key: Key, unserved: Option<String>, setting: &Setting) -> Held {
    let queue = setting.queue_cannot_pass.clone().filter(|_| holds_the_queue(key.metric));
    unserved.map(Held::Unserved).or(queue.map(Held::Queue)).unwrap_or(Held::Free)
}

/// How much less the candidate served, where that is more than the load of two comparable workloads may differ by: who
/// sheds requests has shorter queues and smaller batches for the others.
fn served_less(pairs: &[&Pair], policy: &Policy) -> Option<String> {
    let served = |side: fn(&Pair) -> &Reading| {
        let sides = pairs.iter().map(|pair| side(pair));
        let (served, offered) = sides
            .fold((0, 0), |sum, side| (sum.0 + side.offered.saturating_sub(side.unanswered), sum.1 + side.offered));
        (offered > 0).then(|| served as f64 / offered as f64)
    };
    let (base, candidate) = (served(|pair| &pair.base)?, served(|pair| &pair.candidate)?);
    (candidate < base * (1.0 - policy.mix_tolerance)).then(|| {
        format!(
            "the candidate served {:.1} % of its requests, base {:.1} %: those it served had less company",
            candidate * 100.0,
            base * 100.0
        )
    })
}

impl Judged {
    /// The claim by the one-sided bounds; a failure is left to the whole family, see [`super::gate`].
    fn decide_pass(&mut self, estimate: &PairedEstimate, margin: f64, held: Held, alpha: f64, policy: &Policy) {
        let bounds = (estimate.effect.lower(alpha), estimate.effect.upper(alpha));
        let (Ok(lower), Ok(upper)) = bounds else { return };
        let within = upper < margin;
        let enough = estimate.pairs >= policy.min_pairs as usize;
        self.passes = within && enough && matches!(held, Held::Free);
        self.row.claim = match held {
            _ if !enough => Claim::Inconclusive,
            Held::Unserved(_) => Claim::Inconclusive,
            _ if upper < 0.0 => Claim::Improved,
            Held::Free if within && lower > 0.0 => Claim::RegressedWithinMargin,
            Held::Free if within => Claim::NonInferior,
            _ => Claim::Inconclusive,
        };
        match held {
            Held::Queue(why) | Held::Unserved(why) if within => {
                annotate(&mut self.row, format!("cannot pass: {why}"));
            }
            _ if within && !enough => {
                annotate(
                    &mut self.row,
                    format!("cannot pass: {} pairs, it takes {}", estimate.pairs, policy.min_pairs),
                );
            }
            _ => {}
        }
        if !within {
            self.pairs_that_decide(estimate, margin, alpha, policy);
        }
    }

    fn pairs_that_decide(&mut self, estimate: &PairedEstimate, margin: f64, alpha: f64, policy: &Policy) {
        let plan = PairPlan {
            covariates: estimate.covariates,
            multiple: if estimate.covariates > 1 { 4 } else { 2 },
            least: estimate.pairs + 1,
            limit: policy.max_pairs as usize,
        };
        let gap = (estimate.effect.delta - margin).abs();
        let text = match mde::pairs_to_decide(gap, estimate.s_d, alpha, plan) {
            Ok(Some(k)) => format!("{k} pairs would decide if effect and spread stayed"),
            Ok(None) => format!("more than {} pairs would be needed to decide", policy.max_pairs),
            Err(_) => return,
        };
        annotate(&mut self.row, text);
        let m = margin.exp_m1();
        if self.row.mde.is_some_and(|mde| mde > m) && self.row.metric != Metric::GoodShare {
            let needed = mde::pairs_needed(estimate.s_d, m, PairPlan { least: 2, ..plan });
            let needed = match needed {
                Ok(Some(k)) => format!("{k} pairs would allow it"),
                _ => format!("more than {} pairs would", policy.max_pairs),
            };
            annotate(&mut self.row, format!("the margin is below what these pairs can detect: {needed}"));
        }
    }

    /// The family's verdict: with a p value up to α the metric is worse than its margin, whatever stood before.
    pub fn close(&mut self, p: f64, alpha: f64) {
        let Some(open) = &self.open else { return };
        let above = open.estimate.effect.lower(alpha).is_ok_and(|lower| lower > open.margin);
        if above && p <= alpha {
            self.row.claim = Claim::Regressed;
            self.passes = false;
            // What would decide is of no interest once it is decided.
            self.row.note = Some(format!("family-wise p = {p:.4}"));
        } else if above {
            annotate(&mut self.row, format!("above the margin by itself, but family-wise p = {p:.3}"));
        }
    }
}

/// The scale of the differences, and back to ratios.
enum Scale {
    /// Log ratios; the sign makes worse positive.
    Log(f64),
    /// Logits at base's level.
    Logit(Level),
}

impl Scale {
    fn of(key: Key, pairs: &[&Pair]) -> Self {
        let counts: Vec<Counts> = pairs.iter().filter_map(|pair| pair.base.good).collect();
        match Level::of(&counts).filter(|_| key.metric == Metric::GoodShare) {
            Some(level) => Self::Logit(level),
            None => Self::Log(worse_sign(key.metric)),
        }
    }

    /// The margin on the scale of the differences.
    fn margin(&self, margin: f64) -> Option<f64> {
        match self {
            Self::Log(_) => Some(margin.ln_1p()),
            Self::Logit(level) => level.difference(margin),
        }
    }

    /// A worsening on the scale of the differences as a relative one.
    fn relative(&self, difference: f64) -> f64 {
        match self {
            Self::Log(_) => difference.exp_m1(),
            Self::Logit(level) => level.points(difference) / level.share(),
        }
    }

    /// candidate / base at a worse-positive difference.
    fn ratio(&self, difference: f64) -> f64 {
        match self {
            Self::Log(sign) => (sign * difference).exp(),
            Self::Logit(level) => 1.0 - level.points(difference) / level.share(),
        }
    }

    fn fill(&self, row: &mut MetricRow, estimate: &PairedEstimate, alpha: f64) {
        let confidence = 1.0 - 2.0 * alpha;
        row.ratio = Quantity::of(self.ratio(estimate.effect.delta));
        if let Ok(interval) = estimate.interval(confidence) {
            let (a, b) = (self.ratio(interval.lo), self.ratio(interval.hi));
            row.interval = Quantity::of(a.min(b)).zip(Quantity::of(a.max(b))).map(|(lo, hi)| [lo, hi]);
            row.confidence = row.interval.map(|_| confidence);
        }
        let log_mde = mde::log_mde(estimate.s_d, estimate.pairs, estimate.covariates).ok();
        row.mde = log_mde.map(|d| self.relative(d));
        if let Self::Logit(level) = self {
            // Rounded first: a small negative number would be shown as −0.00.
            let point = |d: f64| (-level.points(d) * 1e4).round() / 1e2 + 0.0;
            if let Ok(interval) = estimate.interval(confidence) {
                annotate(
                    row,
                    format!(
                        "{:+.2} points [{:+.2}, {:+.2}]",
                        point(estimate.effect.delta),
                        point(interval.hi),
                        point(interval.lo)
                    ),
                );
            }
        }
    }
}
