//! Pairs of runs: the effect over pairs, held against its margin.

use super::{
    failed,
    pair::Pair,
    plan::{Key, holds_the_queue, is_latency},
    policy::{Gate, Policy},
    reading::Cell,
    rows::{annotate, restraint, shown},
    scale::{Differences, Scale},
    view::View,
};
use firstcheck_model::{
    metric::{Metric, Stat},
    report::{Claim, MetricRow},
};
use firstcheck_stats::{
    Error,
    design::{Code, Design},
    mde::{self, PairPlan},
    paired::{self, PairedEstimate},
};

/// The design that all pairs share.
pub(super) struct Setting {
    pub alpha: f64,
    /// Why what holds the queue cannot pass; `None`: it can.
    pub queue_cannot_pass: Option<String>,
    /// Why no latency can pass: the candidate did less for its requests.
    pub served_less: Option<String>,
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
pub(super) fn effect(key: Key, at: usize, all: &[View], setting: &Setting, policy: &Policy) -> Judged {
    // A pair in which the metric may not be believed says nothing of it; the others do.
    let usable: Vec<usize> = (0..all.len()).filter(|k| all[*k].doubt(at).is_none()).collect();
    let views: Vec<View> = if usable.len() < 2 { all.to_vec() } else { usable.iter().map(|k| all[*k]).collect() };
    let cells = |candidate: bool| -> Vec<&Cell> {
        views.iter().map(|view| &if candidate { view.candidate } else { view.base }.cells[at]).collect()
    };
    let mut row = shown(key, &cells(false), &cells(true));
    row.exploratory = false;
    row.pairs = views.len() as u64;
    let gate = policy.gate(key.metric, key.stat).copied();
    row.margin = gate.filter(|g| g.metric != Metric::GoodShare).map(|g| g.margin);
    if usable.len() < all.len() && usable.len() >= 2 {
        let why = all.iter().find_map(|view| view.doubt(at)).unwrap_or("in doubt");
        annotate(&mut row, format!("{} of {} pairs left out: {why}", all.len() - usable.len(), all.len()));
    }
    let mut judged = Judged { row, gate, open: None, passes: false };
    if let Some(restraint) = restraint(key, at, &views, policy) {
        judged.row.claim = restraint.claim;
        annotate(&mut judged.row, restraint.why);
        return judged;
    }
    match Differences::of(key, at, &views) {
        Differences::Finite(differences) => {
            fit(&mut judged, key, &views, usable, differences, setting, policy);
        }
        Differences::Unbounded => unbounded(&mut judged, key, &views, policy),
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

/// A row of a slice that some pairs have no request of.
pub(super) fn not_in_every_pair(key: Key, pairs: usize, policy: &Policy) -> Judged {
    let gate = policy.gate(key.metric, key.stat).copied();
    let mut row = shown(key, &[], &[]);
    (row.exploratory, row.claim) = (false, Claim::NotClaimable);
    annotate(&mut row, format!("{pairs} pairs have no request of this slice, or did not replay one trace"));
    Judged { row, gate, open: None, passes: false }
}

/// The quantile reaches unanswered requests in some pair: the shares over all pairs decide.
fn unbounded(judged: &mut Judged, key: Key, views: &[View], policy: &Policy) {
    let Stat::Quantile(p) = key.stat else {
        if judged.gate.is_some() {
            judged.row.claim = Claim::Inconclusive;
            annotate(&mut judged.row, "unbounded in some run: no request met the SLO");
        }
        return;
    };
    let (base, candidate) = failed::pooled(views);
    let reached = |(lost, offered): (u64, u64)| offered > 0 && lost as f64 >= (1.0 - p) * offered as f64;
    let row = &mut judged.row;
    let gated = judged.gate.is_some();
    let text = |(lost, offered): (u64, u64)| format!("{lost} of {offered}");
    let shares = format!("base left {} requests unanswered, the candidate {}", text(base), text(candidate));
    annotate(row, &shares);
    row.claim = match (reached(base), reached(candidate), gated) {
        (_, _, false) => Claim::Shown,
        (false, true, _) => Claim::Regressed,
        (true, false, _) if views.len() >= policy.min_pairs as usize => Claim::Improved,
        _ => Claim::Inconclusive,
    };
}

fn fit(
    judged: &mut Judged,
    key: Key,
    views: &[View],
    usable: Vec<usize>,
    differences: Vec<f64>,
    setting: &Setting,
    policy: &Policy,
) {
    let pairs: Vec<&Pair> = views.iter().map(|view| view.pair).collect();
    let estimate = match design(&pairs).and_then(|design| paired::estimate(&design, &differences)) {
        Ok(estimate) => estimate,
        Err(error) => {
            judged.row.claim = if judged.gate.is_some() { Claim::Inconclusive } else { Claim::Shown };
            annotate(&mut judged.row, format!("no interval: {error}"));
            return;
        }
    };
    let scale = Scale::of(key, views);
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
    let held = held_back(key, &judged.row, setting);
    let held = failed::held_back(key, views, &estimate, margin, setting.alpha).map_or(held, Held::Because);
    judged.decide_pass(&estimate, margin, held, setting.alpha, policy);
    judged.open = Some(Open { pairs: usable, differences, margin, estimate });
}

/// Why a metric cannot pass, whatever its interval.
enum Held {
    /// It can.
    Free,
    /// It holds the queue, and the design does not allow to speak of that.
    Queue(String),
    /// What is known of the pairs does not support any claim that it is no worse.
    Because(String),
    /// The margin is smaller than what these pairs can detect.
    Refused,
}

fn held_back(key: Key, row: &MetricRow, setting: &Setting) -> Held {
    let queue = setting.queue_cannot_pass.clone().filter(|_| holds_the_queue(key.metric));
    let unserved = setting.served_less.clone().filter(|_| is_latency(key.metric));
    let too_small = row.mde.zip(row.margin).is_some_and(|(mde, margin)| mde > margin);
    match (unserved, queue) {
        (Some(why), _) => Held::Because(why),
        (None, Some(why)) => Held::Queue(why),
        _ if too_small && key.metric != Metric::FailedShare => Held::Refused,
        _ => Held::Free,
    }
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
            Held::Because(_) => Claim::Inconclusive,
            _ if upper < 0.0 => Claim::Improved,
            Held::Free if within && lower > 0.0 => Claim::RegressedWithinMargin,
            Held::Free if within => Claim::NonInferior,
            _ => Claim::Inconclusive,
        };
        match held {
            Held::Queue(why) | Held::Because(why) if within => {
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
        self.margin_too_small(estimate, policy);
    }

    fn pairs_that_decide(&mut self, estimate: &PairedEstimate, margin: f64, alpha: f64, policy: &Policy) {
        let gap = (estimate.effect.delta - margin).abs();
        let text = match mde::pairs_to_decide(gap, estimate.s_d, alpha, more_pairs(estimate, policy)) {
            Ok(Some(k)) => format!("{k} pairs would decide if effect and spread stayed"),
            Ok(None) => format!("more than {} pairs would be needed to decide", policy.max_pairs),
            Err(_) => return,
        };
        annotate(&mut self.row, text);
    }

    /// A margin below what the pairs can detect is refused, with the number of pairs that would allow it.
    fn margin_too_small(&mut self, estimate: &PairedEstimate, policy: &Policy) {
        let Some((mde, margin)) = self.row.mde.zip(self.row.margin).filter(|(mde, margin)| mde > margin) else {
            return;
        };
        // The detectable difference falls with the pairs as it does on its own scale.
        let (Ok(now), ratio) = (mde::log_mde(estimate.s_d, estimate.pairs, estimate.covariates), mde / margin) else {
            return;
        };
        let needed = mde::pairs_needed(estimate.s_d, (now / ratio).exp_m1(), more_pairs(estimate, policy));
        let needed = match needed {
            Ok(Some(k)) => format!("{k} pairs would allow it"),
            _ => format!("more than {} pairs would", policy.max_pairs),
        };
        annotate(&mut self.row, format!("the margin is below what these pairs can detect: {needed}"));
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

/// Numbers of pairs beyond those there are.
fn more_pairs(estimate: &PairedEstimate, policy: &Policy) -> PairPlan {
    PairPlan {
        covariates: estimate.covariates,
        multiple: if estimate.covariates > 1 { 4 } else { 2 },
        least: estimate.pairs + 1,
        limit: policy.max_pairs as usize,
    }
}
