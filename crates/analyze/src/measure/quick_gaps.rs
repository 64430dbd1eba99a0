//! Whether the quickest steps of two sides are as long.

use super::gap_histogram::GapHistogram;
use crate::{side::Side, verdict::MOST};

/// Share of the gaps that are the quick ones: of steps that compute nobody's prompt.
const QUICK: f64 = 0.1;

/// Whether what a client's gaps rose by on one of two sides is not in its quick gaps: steps without a prompt take what they
/// took, and longer ones hold more work. `None` without the events of both sides, and where events come in bursts, whose
/// gaps are no steps.
pub fn are_as_long(side: &Side<'_>, other: &Side<'_>) -> Option<bool> {
    let read = |side: &Side<'_>| {
        let gaps = side.measure::<GapHistogram>().ok()?;
        Some((gaps.quantile(QUICK)?.0, gaps.mean().0))
    };
    let (one, two) = (read(side)?, read(other)?);
    let paced = |(quick, mean): (f64, f64)| quick >= MOST * mean;
    // The side with the shorter gaps is the one whose steps are not lengthened.
    let (short, long) = if one.1 <= two.1 { (one, two) } else { (two, one) };
    paced(short).then_some(long.0 - short.0 < MOST * (long.1 - short.1))
}
