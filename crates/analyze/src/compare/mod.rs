//! Two sides compared: is the candidate worse, by how much, with what certainty, and in which stage is the time lost.
//!
//! The unit is a pair of runs that replayed one trace side by side, never a request: requests of one run share a queue.
//! Pairs are judged by a paired t with order and device fitted, against the margins of a [`Policy`]; a pass needs every
//! gated metric, a failure of any is corrected for their number. Runs without pairs are exploratory: effects are shown,
//! nothing passes, and only what no two runs of one deployment show may fail.
//!
//! Nothing offered is dropped: a request that was not answered in full has latency `+∞`. What differs between the
//! deployments is what is compared; what differs in the workload is a reason to refuse.

mod attribute;
mod columns;
pub mod comparability;
mod comparison;
mod condition;
pub mod difference;
mod effects;
mod failed;
mod gaps;
mod gate;
mod judging;
mod looks;
mod observed;
mod pair;
mod paired;
mod plan;
mod policy;
mod reading;
mod replicates;
mod rows;
mod same_trace;
mod scale;
mod series;
mod sides;
mod signature;
mod single;
mod slice;
mod tail;
mod told;
mod totals;
mod twins;
mod view;

pub use comparison::{Comparison, compare, compare_told, describe, queue_growth};
pub use condition::Condition;
pub use difference::Differences;
pub use effects::Effect;
pub use looks::SoFar;
pub(crate) use observed::side_by_side;
pub use policy::{Gate, Policy, PolicyError};
pub(crate) use sides::{mixed, run_row, unanswered};
pub use signature::signatures;
pub use slice::{SliceMargin, Slices};
pub use told::Told;

/// (candidate − base) / base; `None` where base is zero or a value is not finite.
///
/// # Example: what an incident's numbers say
/// ```
/// use firstcheck_analyze::compare::relative_change;
/// assert_eq!(relative_change(800.0, 1200.0), Some(0.5));
/// assert_eq!(relative_change(12.0, 9.0), Some(-0.25));
/// assert_eq!(relative_change(0.0, 9.0), None);
/// ```
pub fn relative_change(base: f64, candidate: f64) -> Option<f64> {
    let change = (candidate - base) / base;
    (base != 0.0 && change.is_finite()).then_some(change)
}
