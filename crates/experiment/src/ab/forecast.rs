//! What an experiment will take, before anything is started.

use crate::{
    calibration::{Calibrations, mix},
    plan::{Plan, WarmUp, warm_up},
    rig::Offer,
    target::Target,
};
use firstcheck_analyze::compare::Policy;
use firstcheck_model::{
    metric::{Metric, Stat},
    unit::Seconds,
};
use firstcheck_stats::{mde, quantile};
use firstcheck_workload::trace::Due;

/// What a start of a server is taken to last, until one has been seen, seconds.
pub const START_S: f64 = 60.0;
/// Spread of a metric between runs of one deployment that is assumed where no calibration tells it, in log points.
pub const ASSUMED_S_D: f64 = 0.05;

/// What an experiment will take.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Pairs or blocks at which it may end: its looks, or all of them.
    pub pairs: Vec<u32>,
    /// Runs of each.
    pub runs_a_block: u32,
    /// Longest time of one run: start, warm-up, window. `None` where it lasts as long as its requests take.
    pub run: Option<Seconds>,
    /// Whether servers are started for each run.
    pub starts: bool,
    /// Whether time is virtual in all of them.
    pub is_virtual: bool,
    /// Requests that are due in a window at a time of their own.
    pub requests: u64,
    /// Whether further ones are due when an earlier one has ended, so that nothing tells how many a window will hold.
    pub others_follow: bool,
    /// What is gated.
    pub gates: Vec<GateForecast>,
}

/// What can be said of a gated metric.
#[derive(Debug, Clone, PartialEq)]
pub struct GateForecast {
    /// The metric.
    pub metric: Metric,
    /// Its statistic.
    pub stat: Stat,
    /// Requests that a window needs for it.
    pub needs: Option<u64>,
    /// Its margin, relative (of a share in points).
    pub margin: f64,
    /// Spread between pairs of one deployment, in log points.
    pub s_d: f64,
    /// Whether an A/A calibration measured it.
    pub calibrated: bool,
    /// Smallest relative change that is found four times in five, at each number of pairs.
    pub mde: Vec<f64>,
}

impl Forecast {
    /// How long so many pairs take at most, without the run that shows the warm-up; `None` where no run's length is known.
    pub fn minutes(&self, pairs: u32) -> Option<f64> {
        Some(f64::from(pairs * self.runs_a_block) * self.run?.0 / 60.0)
    }

    /// Whether a window is known to hold too few requests for a metric that needs so many.
    pub fn lacks(&self, needs: u64) -> bool {
        !self.others_follow && self.requests < needs
    }
}

/// What runs of `targets` by that plan will take. What is `known` of base against itself on this mix tells how much a metric
/// spreads.
///
/// # Errors
/// A trace that cannot be made.
pub fn forecast(
    plan: &Plan,
    targets: &[Target],
    offer: &Offer,
    policy: &Policy,
    known: &Calibrations,
) -> Result<Forecast, crate::Error> {
    plan.check()?;
    let warm_up = match plan.warm_up {
        WarmUp::Fixed(length) => length,
        WarmUp::Learnt => Seconds(warm_up::LEAST_S),
    };
    let trace = (offer.trace)(warm_up).map_err(crate::Error::Trace)?;
    let calibration = known.on(&mix(&trace.description));
    let own_time = |due: Due| match due {
        Due::At(at) => at.seconds(),
        Due::WhenFree | Due::After { .. } => None,
    };
    let due: Vec<f64> = trace.items.iter().filter_map(|item| own_time(item.due)).collect();
    let others_follow = due.len() < trace.len();
    let last = || due.iter().copied().reduce(f64::max).filter(|_| !others_follow);
    let window_end = offer.window.map(|window| warm_up.0 + window.as_secs_f64());
    let end = window_end.or_else(last);
    let starts = targets.iter().any(|t| t.server().is_some_and(|s| s.hooks.is_some()));
    let pairs = if plan.looks.is_empty() { vec![plan.pairs] } else { plan.looks.clone() };
    let gates = policy.gates.iter().map(|gate| {
        let known = calibration.and_then(|c| c.spread(gate.metric, &gate.stat().to_string()));
        let s_d = known.unwrap_or(ASSUMED_S_D);
        GateForecast {
            metric: gate.metric,
            stat: gate.stat(),
            needs: gate.quantile.and_then(quantile::claimable_from),
            margin: gate.margin,
            s_d,
            calibrated: known.is_some(),
            mde: pairs.iter().filter_map(|k| mde::mde(s_d, *k as usize, covariates(plan)).ok()).collect(),
        }
    });
    Ok(Forecast {
        gates: gates.collect(),
        pairs: pairs.clone(),
        runs_a_block: plan.runs_a_block(),
        run: end.map(|end| Seconds(end.max(warm_up.0) + if starts { START_S } else { 0.0 })),
        starts,
        is_virtual: targets.iter().all(|target| target.simulated().is_some()),
        requests: due.iter().filter(|at| **at >= warm_up.0 && window_end.is_none_or(|end| **at < end)).count() as u64,
        others_follow,
    })
}

/// What is fitted beside the effect: the order, and the device where there are two.
pub(crate) fn covariates(plan: &Plan) -> usize {
    if plan.devices.is_empty() { 1 } else { 2 }
}
