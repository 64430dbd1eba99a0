//! The random numbers behind draws: what a draw depends on.

use super::{Language, SPREAD, batch::BatchView, speech::Speech};
use crate::{config::sampler::SeedUse, kv_cache::hash::mix};

/// Told apart from seeds that requests bring.
const SHARED: u64 = 0x7368_6172_6564;

/// What the engine's sampler remembers from one draw to the next. A healthy sampler does not need it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Generator {
    /// The seed it was last set to, and the draws since.
    seeded: Option<(u64, u64)>,
    /// The prompt that came first after the start.
    first_prompt: Option<u64>,
}

impl Generator {
    /// The prompt that came first after the start, which is `own` if none came before.
    pub(super) fn first_prompt(&mut self, own: u64) -> u64 {
        *self.first_prompt.get_or_insert(own)
    }

    /// A generator that is seeded again only by another seed.
    fn next_of(&mut self, seed: u64, first: bool) -> f64 {
        let (held, drawn) = match self.seeded {
            Some((held, drawn)) if held == seed || !first => (held, drawn),
            _ => (seed, 0),
        };
        self.seeded = Some((held, drawn + 1));
        uniform(held, 0, drawn)
    }
}

impl Language {
    /// The random number for the next token of `speech`: uniform, above 0 and below 1.
    pub(super) fn uniform(&self, speech: &Speech, view: &BatchView<'_>, generator: &mut Generator) -> f64 {
        let (step, row) = (view.step, u64::from(view.row));
        let shared = || uniform(self.sampler.seed ^ SHARED, row, step.number);
        let Some(seed) = speech.settings().seed else { return shared() };
        let position = u64::from(speech.len());
        match self.sampler.seed_use {
            SeedUse::PerRequest => uniform(seed, 0, position),
            SeedUse::ByRow => uniform(step.first_seed.unwrap_or(self.sampler.seed), row, position),
            SeedUse::SharedIfAnyUnseeded if step.unseeded => shared(),
            SeedUse::SharedIfAnyUnseeded => uniform(seed, 0, position),
            SeedUse::EngineCounter => uniform(seed, 0, step.number),
            SeedUse::OnChange => generator.next_of(seed, position == 0),
            SeedUse::RestartOnResume => uniform(seed, 0, position - u64::from(speech.resumed_at())),
            SeedUse::ByDraw => uniform(seed, 0, position + u64::from(speech.verified_drafts())),
        }
    }
}

/// Number `offset` of the stream `row` of the generator seeded with `seed`: uniform, above 0 and below 1. A hash of a
/// counter, so that any number of any stream can be had at once.
pub fn uniform(seed: u64, row: u64, offset: u64) -> f64 {
    let stream = mix(mix(seed ^ 0x6472_6177) ^ row.wrapping_mul(SPREAD));
    let bits = mix(stream ^ (offset + 1).wrapping_mul(SPREAD));
    ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}
