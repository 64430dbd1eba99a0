//! Whether a series has left its warm-up behind: MSER-5 (White, Cobb and Spratt 2000).
//!
//! A diagnostic only: in an open loop it cuts nothing or deletes a busy period, so it never moves the window.

/// Observations a batch.
const BATCH: usize = 5;

/// Fewest batches of which anything is said.
const MIN_BATCHES: usize = 20;

/// How many of the first observations MSER-5 would cut off; `None` for fewer than 100 observations.
///
/// Batch means of five are taken; the cut is the one that minimises the squared standard error of the mean of the rest,
/// `sum((y - mean)^2) / m^2` over the *m* batches kept, and at least five batches are kept.
pub fn mser5(series: &[f64]) -> Option<usize> {
    let means: Vec<f64> = series.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if means.len() < MIN_BATCHES || means.iter().any(|mean| !mean.is_finite()) {
        return None;
    }
    // Sums over the tail, taken from its end, of values centred on the last batch lest large means cancel.
    let centre = means.last().copied()?;
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (cut, mean) in means.iter().enumerate().rev() {
        let value = mean - centre;
        sum += value;
        squares += value * value;
        let kept = (means.len() - cut) as f64;
        let error = (squares - sum * sum / kept).max(0.0) / (kept * kept);
        // Of equal errors the smallest cut counts, which comes last.
        if means.len() - cut >= BATCH && error <= best.0 {
            best = (error, cut);
        }
    }
    Some(best.1 * BATCH)
}

/// What to tell of a window whose requests, in the order in which they were intended, took `series`; `None`: nothing.
pub(crate) fn warning(what: &str, series: &[f64]) -> Option<String> {
    let cut = mser5(series)?;
    let share = cut as f64 / series.len() as f64;
    if share > 0.5 {
        Some(format!("{what} never became steady in the window (MSER-5 would cut {:.0} % of it)", share * 1e2))
    } else if share > 0.1 {
        Some(format!(
            "{what} may not have been steady from the window's start (MSER-5 would cut the first {:.0} % of it)",
            share * 1e2
        ))
    } else {
        None
    }
}
