//! One difference against a ledger of A/A differences.

use crate::Error;
use crate::design::Design;
use crate::error::finite;
use crate::estimate::Estimate;

/// A/A pairs from which a ledger may speak.
pub const MIN_LEDGER: usize = 8;

/// The effect of a single pair with its standard error from K differences
/// between runs of one and the same deployment: `s·√(1 + 1/K)`, ν = K − 1.
///
/// The effect is the difference itself. The ledger's mean is not taken off: it
/// is zero but for chance, and the 1/K pays for that.
///
/// # Errors
/// [`Error::TooFewValues`] for fewer than [`MIN_LEDGER`] pairs,
/// [`Error::NotFinite`] for a value that is not finite.
pub fn from_ledger(ledger: &[f64], difference: f64) -> Result<Estimate, Error> {
    let n = ledger.len();
    if n < MIN_LEDGER {
        return Err(Error::TooFewValues { what: "the A/A ledger", found: n, needed: MIN_LEDGER });
    }
    finite("the difference", &[difference])?;
    // Order and device stay in the spread: a single pair carries them too.
    let split = Design::plain(n)?.split(ledger)?;
    Ok(Estimate {
        delta: difference,
        se: split.s * (1.0 + 1.0 / n as f64).sqrt(),
        nu: (n - 1) as f64,
        identical: split.s == 0.0,
    })
}
