//! What the server makes of a prompt before the model sees it, and how loud a prompt is.

use super::{Context, Language, special::BEGIN_OF_TEXT};
use crate::{config::sampler::PromptForm, kv_cache::hash::mix};
use firstcheck_workload::text;
use std::{iter, sync::Arc};

/// Equal tokens at a prompt's end that make it an outlier.
const OUTLIER_RUN: usize = 8;
/// How much larger an outlier's activations are.
const OUTLIER: f64 = 100.0;

impl PromptForm {
    /// The prompt as the model gets it.
    pub fn apply(&self, prompt: Arc<[u32]>) -> Arc<[u32]> {
        if *self == Self::default() {
            return prompt;
        }
        let bos = iter::repeat_n(BEGIN_OF_TEXT, self.bos_tokens as usize);
        let head = text::word_ids(mix(self.template ^ 0x6865_6164), self.head_tokens);
        let tail = text::word_ids(mix(self.template ^ 0x7461_696c), self.tail_tokens);
        let mut ids: Vec<u32> = bos.chain(head).chain(prompt.iter().copied()).chain(tail).collect();
        let most = self.truncate_to as usize;
        if most > 0 && ids.len() > most {
            if self.truncate_left {
                ids.drain(..ids.len() - most);
            } else {
                ids.truncate(most);
            }
        }
        ids.into()
    }
}

impl Language {
    /// Size of the largest activation that a prompt causes: about 1, and a hundred times that for a prompt that ends in
    /// the same token eight times over.
    pub(super) fn loudness(&self, prompt: &[u32], context: Context) -> f64 {
        let own = 1.0 + (mix(context.key ^ 0x6c6f_7564) >> 32) as f64 / f64::from(u32::MAX);
        let end = prompt.len().checked_sub(OUTLIER_RUN).and_then(|start| prompt.get(start..));
        match end {
            Some([first, rest @ ..]) if rest.iter().all(|token| token == first) => own * OUTLIER,
            _ => own,
        }
    }
}
