//! The effects behind a comparison's rows, on the scale on which they are tested.

use super::{comparison::Comparison, pair::Pair, paired, policy::Policy, scale::Differences, view::View};
use firstcheck_model::metric::{Metric, Stat};
use firstcheck_stats::paired::PairedEstimate;

/// The effect on one gated metric over all pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Which metric.
    pub metric: Metric,
    /// Which statistic of it.
    pub stat: Stat,
    /// Worse positive: a difference of logarithms; for the share of good requests a difference of logits.
    pub estimate: PairedEstimate,
    /// The difference of each pair, likewise.
    pub differences: Vec<f64>,
}

impl Comparison {
    /// The effects on what the policy gates, over all pairs and requests. One that reaches unanswered requests, or has
    /// no interval, is left out: on this scale it is not a number.
    pub fn effects(&self) -> Vec<Effect> {
        let pairs: Vec<&Pair> = self.paired().iter().collect();
        let Ok(design) = paired::design(&pairs) else { return Vec::new() };
        let views: Vec<View> = pairs.iter().map(|pair| View::whole(pair)).collect();
        let gated =
            self.keys().iter().enumerate().filter(|(_, key)| self.policy().gate(key.metric, key.stat).is_some());
        gated
            .filter_map(|(at, key)| {
                let Differences::Finite(differences) = Differences::of(*key, at, &views) else { return None };
                let estimate = firstcheck_stats::paired::estimate(&design, &differences).ok()?;
                Some(Effect { metric: key.metric, stat: key.stat, estimate, differences })
            })
            .collect()
    }

    /// The same pairs under other margins and another error. `policy` has to gate what the comparison was begun with, by
    /// other margins at most: pairs keep nothing of what else there was.
    pub fn held_to(&self, policy: Policy) -> Self {
        let mut same = self.clone();
        same.policy = policy;
        same
    }
}
