//! Random spread of step times, from a seed.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// Step times are multiplied by exp(run) · exp(step): one draw a run, one a step, both normal with mean 0. The run's
/// factor is what makes replicates differ from one another (placement, clocks, neighbours); a step's averages out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Noise {
    /// Standard deviation of the run's factor, in natural logarithms.
    pub run_sd: f64,
    /// Standard deviation of each step's factor, in natural logarithms.
    pub step_sd: f64,
}

impl Default for Noise {
    fn default() -> Self {
        Self { run_sd: 0.01, step_sd: 0.03 }
    }
}

impl Noise {
    /// No spread at all.
    pub const NONE: Self = Self { run_sd: 0.0, step_sd: 0.0 };
}

/// Draws the factors of one run.
#[derive(Debug, Clone)]
pub(crate) struct NoiseSource {
    rng: ChaCha8Rng,
    /// The run's draw, in standard deviations.
    draw: f64,
    noise: Noise,
}

impl NoiseSource {
    pub(crate) fn new(noise: Noise, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let draw: f64 = StandardNormal.sample(&mut rng);
        Self { rng, draw, noise }
    }

    /// Goes on with another spread; what was drawn for the run stays drawn.
    pub(crate) fn set(&mut self, noise: Noise) {
        self.noise = noise;
    }

    pub(crate) fn factor(&mut self) -> f64 {
        let run = self.noise.run_sd * self.draw;
        if self.noise.step_sd == 0.0 {
            return run.exp();
        }
        let draw: f64 = StandardNormal.sample(&mut self.rng);
        (run + self.noise.step_sd * draw).exp()
    }
}
