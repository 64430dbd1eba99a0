//! The encoder of images: what a step may encode, what is kept, and how much memory that takes.

use crate::{config::Encoder, request::RequestState};
use std::collections::{BTreeMap, HashMap};

/// Embeddings that are kept, and the work of the step in hand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Images {
    kept: HashMap<u64, Kept>,
    /// Images kept by their latest use, the one used longest ago first.
    order: BTreeMap<u64, u64>,
    /// Uses so far: by their number the latest ones of two images are compared.
    uses: u64,
    kept_tokens: u64,
    retained_bytes: f64,
    step: StepImages,
    /// Lookups of images, and how many were found, since the last step.
    pub(crate) queries: u64,
    pub(crate) hits: u64,
}

/// An image of which the embeddings are kept.
#[derive(Debug, Clone, Copy)]
struct Kept {
    tokens: u32,
    /// Number of its latest use.
    used: u64,
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
                let known = self.recall(id);
                if !known && self.step.images > 0 && self.step.tokens + images.tokens > encoder.budget_tokens {
                    return start.saturating_sub(computed);
                }
                self.queries += 1;
                self.hits += u64::from(known);
                if !known {
                    self.encode(encoder, id, images.tokens);
                }
            }
            request.images_encoded += 1;
        }
        tokens
    }

    /// Whether an image is kept; it then counts as used now.
    fn recall(&mut self, id: u64) -> bool {
        let Some(kept) = self.kept.get_mut(&id) else { return false };
        self.uses += 1;
        self.order.remove(&std::mem::replace(&mut kept.used, self.uses));
        self.order.insert(self.uses, id);
        true
    }

    fn encode(&mut self, encoder: &Encoder, id: u64, tokens: u32) {
        self.step.images += 1;
        self.step.tokens += tokens;
        self.uses += 1;
        self.kept.insert(id, Kept { tokens, used: self.uses });
        self.order.insert(self.uses, id);
        self.kept_tokens += u64::from(tokens);
        while self.kept_tokens > u64::from(encoder.cache_tokens) {
            let Some((_, oldest)) = self.order.pop_first() else { return };
            let Some(gone) = self.kept.remove(&oldest) else { continue };
            self.kept_tokens -= u64::from(gone.tokens);
            self.retained_bytes += f64::from(gone.tokens) * encoder.cache_bytes_per_token * encoder.retained_share;
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
