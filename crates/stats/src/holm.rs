//! Holm's step-down correction of several p values.

use crate::{Error, error::probability};

/// The p values of a family, each adjusted so that calling what is at most α gives any false call with probability at most
/// α, whatever their dependence (Holm 1979).
///
/// # Errors
/// [`Error::Probability`] for a value outside [0, 1].
///
/// # Example
/// ```
/// use firstcheck_stats::holm;
/// assert_eq!(holm::adjusted(&[0.01, 0.04, 0.03]).unwrap(), [0.03, 0.06, 0.06]);
/// ```
pub fn adjusted(p: &[f64]) -> Result<Vec<f64>, Error> {
    for value in p.iter().filter(|value| **value != 0.0 && **value != 1.0) {
        probability("a p value", *value)?;
    }
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let (mut adjusted, mut least) = (vec![0.0; p.len()], 0.0_f64);
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max((p[at] * (p.len() - rank) as f64).min(1.0));
        adjusted[at] = least;
    }
    Ok(adjusted)
}
