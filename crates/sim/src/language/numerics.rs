//! What logits depend on besides the context.

use super::{Context, Language, SPREAD, batch::BatchView, logits::Logits, speech::Speech};
use crate::kv_cache::hash::mix;

/// Kernels among which the number of rows chooses.
const KERNELS: u64 = 4;
/// Updates of the weights that still show: older ones are part of the model.
const UPDATES: u64 = 64;

/// A spread of logits, and what it is a function of.
#[derive(Debug, Clone, Copy)]
struct Disturbance {
    sd: f64,
    key: u64,
}

/// All that disturb a token's logits.
#[derive(Debug, Clone, Default)]
pub(super) struct Disturbances(Vec<Disturbance>);

impl Disturbances {
    fn add(&mut self, name: u64, sd: f64, key: u64) {
        if sd > 0.0 {
            self.0.push(Disturbance { sd, key: mix(key ^ name.wrapping_mul(SPREAD)) });
        }
    }

    pub(super) fn apply(&self, context: Context, logits: &mut Logits) {
        let here = context.bits();
        for Disturbance { sd, key } in &self.0 {
            let key = mix(key ^ here);
            for block in &mut logits.blocks {
                let token = u64::from(block.token.unwrap_or(u32::MAX));
                block.logit += sd * normal(mix(key ^ token.wrapping_mul(SPREAD)));
            }
        }
    }
}

impl Language {
    /// What disturbs a text wherever it is computed by this engine on the weights of update `version`: alone, in a
    /// batch, or scored.
    pub(super) fn standing_disturbances(&self, position: u32, version: u64) -> Disturbances {
        let (numerics, weights) = (&self.sampler.numerics, &self.sampler.weights);
        let mut all = Disturbances::default();
        all.add(1, numerics.build_sd, numerics.build);
        all.add(2, numerics.position * f64::from(position) / 1000.0, 0);
        for update in version.saturating_sub(UPDATES)..version {
            all.add(3, weights.update_sd, update);
        }
        all
    }

    /// What disturbs the next token of `speech` in a batch.
    pub(super) fn disturbances(&self, speech: &Speech, view: &BatchView<'_>, first_prompt: u64) -> Disturbances {
        let (numerics, step) = (&self.sampler.numerics, view.step);
        let mut all = self.standing_disturbances(speech.sequence_len(), self.sampler.weights.loaded_at(step.now_ns));
        if step.rows > 1 {
            let kernel = mix(u64::from(step.rows)) % KERNELS;
            all.add(4, if kernel == 0 { 0.0 } else { numerics.batch_shape }, kernel);
            let octaves = (step.loudest / speech.loudness()).log2().max(0.0);
            all.add(5, numerics.tensor_scale * octaves, step.loudest.to_bits());
        }
        all.add(6, numerics.race, mix(step.number) ^ u64::from(view.row));
        if view.cached_tokens > 0 {
            all.add(7, numerics.prefix_hit, u64::from(view.cached_tokens));
        }
        if view.preemptions > 0 {
            all.add(8, numerics.recompute, u64::from(view.preemptions));
        }
        if numerics.switch_rows > 0 && step.rows >= numerics.switch_rows {
            all.add(9, numerics.kernel_switch, 0);
        }
        all.add(10, numerics.first_prompt, first_prompt);
        all
    }
}

/// A number with mean 0 and standard deviation 1 from well-mixed bits: the sum of four uniform ones.
fn normal(bits: u64) -> f64 {
    let sum: u64 = (0..4).map(|part| (bits >> (16 * part)) & 0xffff).sum();
    ((sum as f64 + 2.0) / 65536.0 - 2.0) * 3f64.sqrt()
}
