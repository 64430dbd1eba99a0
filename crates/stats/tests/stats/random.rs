//! Seeded normal variates for the simulations.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub struct Normals(ChaCha8Rng);

impl Normals {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Box and Muller, so that it differs from the crate's own method.
    pub fn next(&mut self) -> f64 {
        let a: f64 = 1.0 - self.0.random::<f64>();
        let b: f64 = self.0.random();
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    pub fn many(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }
}

pub fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}
