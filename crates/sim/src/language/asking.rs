//! How a client asks for outputs that can be compared: the same settings for all requests, seeds by their row.

use super::sampling::Sampling;

/// The settings that a client sends with each of its requests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Asking {
    /// The settings, but for the seed.
    pub sampling: Sampling,
    /// Seeds.
    pub seeds: Seeds,
    /// Every how many rows one is sent without a seed; 0: none.
    pub unseeded_every: u32,
}

/// Seeds of a client's requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Seeds {
    /// As the settings say.
    #[default]
    AsSampling,
    /// This number and the row: each request has its own.
    FromRow(u64),
}

impl Asking {
    /// The settings of the request in `row`.
    pub fn of_row(&self, row: u32) -> Sampling {
        let mut sampling = self.sampling.clone();
        if let Seeds::FromRow(first) = self.seeds {
            sampling.seed = Some(first.wrapping_add(u64::from(row)));
        }
        if self.unseeded_every > 0 && row % self.unseeded_every == self.unseeded_every - 1 {
            sampling.seed = None;
        }
        sampling
    }
}
