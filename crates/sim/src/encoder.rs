//! The encoder of images: what a step may encode, what is kept, and how much memory that takes.

use crate::{config::Encoder, request::RequestState};
use std::collections::{HashMap, VecDeque};

/// Embeddings that are kept, and the work of the step in hand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Images {
    /// Tokens of each image kept.
    kept: HashMap<u64, u32>,
    order: VecDeque<u64>,
    kept_tokens: u64,
    retained_bytes: f64,
    step: StepImages,
    /// Lookups of images, and how many were found, since the last step.
    pub(crate) queries: u64,
    pub(crate) hits: u64,
}

/// What a step encodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StepImages {
    pub(crate) images: u32,
    pub(crate) tokens: u32,
}

/// Memory asked for beyond what is free.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutOfMemory {
    /// Bytes that the step's images needed at their peak.
    pub tried_bytes: f64,
    /// Bytes that embeddings held.
    pub held_bytes: f64,
    /// Bytes that were free for both.
    pub reserve_bytes: f64,
}

impl Images {
    /// A new step begins.
    pub(crate) fn begin(&mut self) {
        self.step = StepImages::default();
    }

    /// What the step encodes so far.
    pub(crate) fn step(&self) -> StepImages {
        self.step
    }

    /// How many of `tokens` tokens after `computed` a request may compute in this step: up to the first image that the
    /// budget does not allow for. What is needed for them is encoded.
    pub(crate) fn allow(&mut self, encoder: &Encoder, request: &mut RequestState, computed: u32, tokens: u32) -> u32 {
        let Some(images) = request.features.images.filter(|images| images.tokens > 0) else { return tokens };
        let end = computed + tokens;
        while request.images_encoded < images.count {
            let start = request.images_encoded * images.tokens;
            if start >= end {
                break;
            }
            // An image that the prefix cache covers needs no encoder.
            if start + images.tokens > computed {
                let id = images.first.wrapping_add(u64::from(request.images_encoded));
                self.queries += 1;
                if self.kept.contains_key(&id) {
                    self.hits += 1;
                } else if self.step.images == 0 || self.step.tokens + images.tokens <= encoder.budget_tokens {
                    self.encode(encoder, id, images.tokens);
                } else {
                    self.queries -= 1;
                    return start.saturating_sub(computed);
                }
            }
            request.images_encoded += 1;
        }
        tokens
    }

    fn encode(&mut self, encoder: &Encoder, id: u64, tokens: u32) {
        self.step.images += 1;
        self.step.tokens += tokens;
        self.kept.insert(id, tokens);
        self.order.push_back(id);
        self.kept_tokens += u64::from(tokens);
        while self.kept_tokens > u64::from(encoder.cache_tokens) {
            let Some(oldest) = self.order.pop_front() else { return };
            let Some(gone) = self.kept.remove(&oldest) else { continue };
            self.kept_tokens -= u64::from(gone);
            self.retained_bytes += f64::from(gone) * encoder.cache_bytes_per_token * encoder.retained_share;
        }
    }

    /// Bytes that embeddings hold.
    pub(crate) fn held_bytes(&self, encoder: &Encoder) -> f64 {
        self.kept_tokens as f64 * encoder.cache_bytes_per_token + self.retained_bytes
    }

    /// Whether the step needs more memory than there is.
    pub(crate) fn overflow(&self, encoder: &Encoder) -> Option<OutOfMemory> {
        let tried_bytes = f64::from(self.step.tokens) * encoder.peak_bytes_per_token;
        let held_bytes = self.held_bytes(encoder);
        let reserve_bytes = encoder.reserve_bytes;
        (self.step.images > 0 && tried_bytes + held_bytes > reserve_bytes).then_some(OutOfMemory {
            tried_bytes,
            held_bytes,
            reserve_bytes,
        })
    }
}

impl Encoder {
    /// Seconds to encode a step's images.
    pub(crate) fn seconds(&self, step: StepImages) -> f64 {
        f64::from(step.images) * self.image_seconds + f64::from(step.tokens) * self.token_seconds
    }
}
