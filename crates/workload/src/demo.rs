//! A mixed workload to demonstrate and rehearse with: many short prompts, some long ones.

use crate::{arrivals::ArrivalProcess, distribution::Distribution, error::Error, spec::Spec, trace::Trace};

/// A mixed workload under Poisson arrivals.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixed {
    /// Requests in all.
    pub requests: u32,
    /// Requests a second.
    pub rate: f64,
    /// Lengths of the short prompts.
    pub input: Distribution,
    /// Lengths of the long prompts.
    pub long_input: Distribution,
    /// Share of the requests that are long, 0 to 1.
    pub long_share: f64,
    /// Output lengths.
    pub output: Distribution,
}

impl Mixed {
    /// 96 % prompts of lognormal length with median 350, 4 % of 4,000 to 12,000 tokens; lognormal outputs with median
    /// 180, 800 at most.
    pub fn new(requests: u32, rate: f64) -> Self {
        Self {
            requests,
            rate,
            input: Distribution::lognormal(350.0, 0.8, 16, 3500),
            long_input: Distribution::uniform(4000, 12_000),
            long_share: 0.04,
            output: Distribution::lognormal(180.0, 0.6, 8, 800),
        }
    }

    /// The workload's description.
    pub fn spec(&self) -> Spec {
        Spec {
            arrivals: Some(ArrivalProcess::Poisson { rate: self.rate }),
            requests: Some(self.requests),
            input: Some(self.input.mixed_with(self.long_share, &self.long_input)),
            output: Some(self.output.clone()),
            ..Spec::default()
        }
    }

    /// The trace under `seed`.
    ///
    /// # Errors
    /// When a field is out of its range.
    pub fn trace(&self, seed: u64) -> Result<Trace, Error> {
        Ok(self.spec().generate(seed, None)?.trace)
    }
}

/// The trace of [`Mixed::new`] under `seed`.
///
/// # Errors
/// When `requests` is 0 or `rate` out of range.
pub fn mixed(requests: u32, rate: f64, seed: u64) -> Result<Trace, Error> {
    Mixed::new(requests, rate).trace(seed)
}
