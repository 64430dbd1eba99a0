//! The share of rare events among many trials.

use statrs::distribution::{Beta, ContinuousCDF};

use crate::Error;
use crate::error::probability;

/// The exact one-sided upper bound of a share at error `alpha`, after `events`
/// of `trials` (Clopper & Pearson 1934): the (1 − α) quantile of
/// Beta(events + 1, trials − events). No event in n trials leaves about
/// −ln α / n, three over n at 5 %.
///
/// Trials count as independent: events that come in bursts need pairs beside it.
///
/// # Errors
/// [`Error::Counts`] when there are more events than trials, or no trial;
/// [`Error::Probability`] unless 0 < `alpha` < 1.
///
/// # Example: the rule of three
/// ```
/// use firstcheck_stats::proportion::upper_bound;
/// let bound = upper_bound(0, 3_000, 0.05).unwrap();
/// assert!((bound - 0.001).abs() < 2e-6);
/// ```
pub fn upper_bound(events: u64, trials: u64, alpha: f64) -> Result<f64, Error> {
    let alpha = probability("alpha", alpha)?;
    if trials == 0 || events > trials {
        return Err(Error::Counts { good: events, offered: trials });
    }
    if events == trials {
        return Ok(1.0);
    }
    if events == 0 {
        return Ok(-(alpha.ln() / trials as f64).exp_m1());
    }
    let beta = Beta::new(events as f64 + 1.0, (trials - events) as f64);
    let beta = beta.map_err(|_| Error::Counts { good: events, offered: trials })?;
    Ok(beta.inverse_cdf(1.0 - alpha))
}
