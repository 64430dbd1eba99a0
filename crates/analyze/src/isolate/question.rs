//! Whether a version is good or bad, by pairs of it and the first version.

use super::taken::{Key, Taken};
use firstcheck_model::{isolation::Stand, report::Quantity};
use firstcheck_stats::{
    Error,
    design::{Code, Design},
    mde::{PairPlan, pairs_to_decide},
    paired,
    sequential::{self, Look},
};

/// What is fitted beside the effect: the order.
const COVARIATES: usize = 1;

/// What is asked of a version.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The metric that got worse.
    pub key: Key,
    /// Half of the whole change, on the scale on which effects add up, worse positive: what is beyond it is bad.
    pub threshold: f64,
    /// One-sided error of either answer, over all looks.
    pub alpha: f64,
    /// Pairs at which one looks, the last included.
    pub looks: Vec<u32>,
    /// Most pairs that a plan may be asked to take.
    pub most: u32,
    /// The looks with what each may spend, where the order of the pairs is fitted.
    levels: Vec<Look>,
}

/// What the pairs say.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Where the version stands; unknown too between two looks.
    pub stand: Stand,
    /// Pairs behind it.
    pub pairs: usize,
    /// Version / first version.
    pub ratio: Option<Quantity>,
    /// Its 95 % interval.
    pub interval: Option<[Quantity; 2]>,
    /// In words: why it cannot be told and what would tell it; what was unbounded.
    pub why: String,
}

/// A pair: what was taken of both runs by the question's key alone, and whether base ran first.
pub type TakenPair = (Taken, Taken, bool);

impl Question {
    /// Whether a version is beyond `threshold`, asked at those looks with that one-sided error in all.
    ///
    /// # Errors
    /// Looks that cannot be planned.
    pub fn new(key: Key, threshold: f64, alpha: f64, looks: &[u32], most: u32) -> Result<Self, Error> {
        let planned: Vec<usize> = looks.iter().map(|look| *look as usize).collect();
        let levels = sequential::plan(&planned, COVARIATES, alpha)?;
        Ok(Self { key, threshold, alpha, looks: looks.to_vec(), most, levels })
    }

    /// What `pairs` say.
    ///
    /// # Errors
    /// Pairs that cannot be computed with.
    pub fn answer(&self, pairs: &[TakenPair]) -> Result<Answer, Error> {
        let unbounded = |taken: &Taken| taken.values.first() == Some(&Some(Quantity::Unbounded));
        let lost = pairs.iter().filter(|(base, version, _)| unbounded(version) && !unbounded(base)).count();
        if lost > 0 {
            // Pairs that are left out would be the worst ones.
            let most = 2 * lost > pairs.len();
            return Ok(Answer {
                stand: if most && self.is_a_look(pairs.len()) { Stand::Bad } else { Stand::Unknown },
                pairs: pairs.len(),
                ratio: most.then_some(Quantity::Unbounded),
                interval: None,
                why: format!(
                    "its {} reaches requests that were not answered in {lost} of {} pairs",
                    self.key.label(),
                    pairs.len()
                ),
            });
        }
        let usable = pairs.iter().filter_map(|(base, version, first)| {
            let valid = base.invalid.is_empty() && version.invalid.is_empty();
            let (base, version) =
                valid.then_some((base.scaled.first()?.as_ref()?, version.scaled.first()?.as_ref()?))?;
            Some((version - base, if *first { Code::Plus } else { Code::Minus }))
        });
        let (differences, orders): (Vec<f64>, Vec<Code>) = usable.unzip();
        let design = match Design::new(differences.len(), &[&orders]) {
            Ok(design) => design,
            Err(Error::TooFewPairs { .. } | Error::Confounded) => {
                return Ok(Answer {
                    stand: Stand::Unknown,
                    pairs: differences.len(),
                    ratio: None,
                    interval: None,
                    why: format!("{} of {} pairs have a value for it", differences.len(), pairs.len()),
                });
            }
            Err(error) => return Err(error),
        };
        let estimate = paired::estimate(&design, &differences)?;
        let sign = self.key.worse();
        let shown = estimate.interval(0.95)?;
        let mut ends = [(sign * shown.lo).exp(), (sign * shown.hi).exp()];
        ends.sort_by(f64::total_cmp);
        let mut answer = Answer {
            stand: Stand::Unknown,
            pairs: differences.len(),
            ratio: Quantity::of((sign * estimate.effect.delta).exp()),
            interval: Quantity::of(ends[0]).zip(Quantity::of(ends[1])).map(|(low, high)| [low, high]),
            why: String::new(),
        };
        // A look that lost a pair has fewer than were planned for it, and spends what the plan left to it.
        let alpha = self.levels.iter().find(|look| look.pairs == pairs.len()).map(|look| look.p);
        let Some(alpha) = alpha else { return Ok(answer) };
        if estimate.effect.lower(alpha)? > self.threshold {
            answer.stand = Stand::Bad;
            answer.why = "beyond half of the whole change".into();
        } else if estimate.effect.upper(alpha)? < self.threshold {
            answer.stand = Stand::Good;
            answer.why = "below half of the whole change".into();
        } else {
            let gap = (estimate.effect.delta - self.threshold).abs();
            let plan = PairPlan {
                covariates: estimate.covariates,
                multiple: 2,
                least: pairs.len() + 1,
                limit: self.most as usize,
            };
            answer.why = match pairs_to_decide(gap, estimate.s_d, self.alpha, plan)? {
                Some(needed) => {
                    format!("cannot be told: {} more pairs would, if effect and spread stayed", needed - pairs.len())
                }
                None => format!(
                    "cannot be told, not by {} pairs either: it lies near half of the whole change, as if the change had \
                     come in parts",
                    self.most
                ),
            };
        }
        Ok(answer)
    }

    fn is_a_look(&self, pairs: usize) -> bool {
        self.looks.iter().any(|look| *look as usize == pairs)
    }
}
