//! How much of a fault is given.

use firstcheck_sim::fault::{Fault, FaultSpec, Param, Severity};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// How far beyond the mildest and the most severe value a draw may lie, as a factor.
const BEYOND: f64 = 1.5;

/// How the parameters of a fault are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dose {
    /// As its severities declare them.
    Declared,
    /// At random, once for each severity and seed: log-uniform from somewhat below the least to somewhat above the
    /// greatest value that a severity has; evenly where zero is among them.
    Random(u64),
}

impl Dose {
    /// The fault at a severity in the run of a seed.
    pub fn fault(self, spec: &'static FaultSpec, severity: Severity, seed: u64) -> Fault {
        let mut fault = Fault::new(spec, severity);
        if let Self::Random(own) = self {
            let name = format!("{} {} {seed}", spec.slug, severity.name());
            let mut rng = ChaCha8Rng::seed_from_u64(xxh3_64_with_seed(name.as_bytes(), own));
            for param in spec.params {
                let value = drawn(param, rng.random());
                // A value within the parameter's own range is always taken.
                let _ = fault.values.set(spec, param.name, value);
            }
        }
        fault
    }
}

/// The value at `share` of a parameter's span, 0 to 1.
fn drawn(param: &Param, share: f64) -> f64 {
    let least = param.by_severity.into_iter().fold(f64::INFINITY, f64::min);
    let most = param.by_severity.into_iter().fold(0.0, f64::max);
    let value = match least > 0.0 {
        // A parameter with one value at all severities is part of what the fault is.
        true if least == most => least,
        true => (least / BEYOND) * (most / least * BEYOND * BEYOND).powf(share),
        false => most * share,
    };
    value.clamp(param.range[0], param.range[1])
}
