//! Looking before the last pair: which error a look may spend, and what the pairs so far say.

use super::{comparison::Comparison, pair::Pair, paired::design, policy::Policy};
use firstcheck_model::report::{MetricRow, Verdict};
use firstcheck_stats::sequential;

/// What the pairs so far say.
#[derive(Debug, Clone, PartialEq)]
pub struct SoFar {
    /// Pairs so far.
    pub pairs: u32,
    /// Why no more pairs are needed: a planned look passed or failed, or the pairs may not be compared at all. `None`: go
    /// on, or end by plan.
    pub decided: Option<Verdict>,
    /// Reasons, the most important first.
    pub why: Vec<String>,
    /// Pairs at the next planned look.
    pub next_look: Option<u32>,
    /// What is gated, over all requests, each with its interval so far.
    pub gated: Vec<MetricRow>,
}

impl Comparison {
    /// What the pairs so far say, by the looks of the policy. Between two of them, and without any, nothing is decided
    /// but that pairs cannot be compared.
    ///
    /// # Example: nothing is known of no pair
    /// ```
    /// use firstcheck_analyze::compare::{Comparison, Policy};
    /// let comparison = Comparison::new(Policy { looks: vec![8, 12, 16], ..Policy::default() });
    /// assert_eq!(comparison.so_far().decided, None);
    /// assert_eq!(comparison.so_far().next_look, Some(8));
    /// ```
    pub fn so_far(&self) -> SoFar {
        let pairs = self.pairs() as u32;
        let looks = &self.policy().looks;
        let next_look = looks.iter().copied().find(|look| *look > pairs);
        if pairs == 0 {
            return SoFar { pairs, decided: None, why: Vec::new(), next_look, gated: Vec::new() };
        }
        let report = self.finish();
        let decided = match report.verdict {
            Verdict::NotComparable => Some(report.verdict),
            Verdict::Pass | Verdict::Fail if looks.contains(&pairs) => Some(report.verdict),
            _ => None,
        };
        let is_gated = |row: &MetricRow| row.margin.is_some() && row.slice.is_none();
        let gated = report.metrics.into_iter().filter(is_gated).collect();
        SoFar { pairs, decided, why: report.why, next_look, gated }
    }
}

/// The error that a gate may spend on so many pairs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Spending {
    /// All of it: one look was planned.
    Whole,
    /// What the plan leaves to this look.
    Look {
        /// The one-sided error in force.
        alpha: f64,
    },
    /// Nothing, and why.
    Nothing(String),
}

/// The looks of the policy, else those that the pairs' own experiment planned: who reads its runs later may not spend more
/// on them than it could.
fn planned<'p>(pairs: &[&'p Pair], policy: &'p Policy) -> &'p [u32] {
    let own = pairs.first().and_then(|pair| pair.base.info.place.as_ref());
    if policy.looks.is_empty() { own.map_or(&[], |place| &place.looks) } else { &policy.looks }
}

/// What may be spent on these pairs, of `alpha` over all looks of the policy.
pub(super) fn spending(pairs: &[&Pair], alpha: f64, policy: &Policy) -> Spending {
    let looks = planned(pairs, policy);
    if looks.is_empty() {
        return Spending::Whole;
    }
    let now = pairs.len();
    let planned: Vec<usize> = looks.iter().map(|look| *look as usize).collect();
    if !planned.contains(&now) {
        let list: Vec<String> = planned.iter().map(ToString::to_string).collect();
        return Spending::Nothing(format!("no look is planned at {now} pairs, only at {}", list.join(", ")));
    }
    let covariates = match design(pairs) {
        Ok(design) => design.covariates(),
        Err(error) => return Spending::Nothing(format!("no look at {now} pairs: {error}")),
    };
    match sequential::plan(&planned, covariates, alpha) {
        Ok(looks) => match looks.iter().find(|look| look.pairs == now) {
            Some(look) => Spending::Look { alpha: look.p },
            None => Spending::Nothing(format!("no look is planned at {now} pairs")),
        },
        Err(error) => Spending::Nothing(format!("the looks cannot be planned: {error}")),
    }
}
