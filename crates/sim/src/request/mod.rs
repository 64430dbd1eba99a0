//! A request inside the engine.

mod features;

pub use features::{Features, Images};

use crate::{
    engine::Output,
    kv_cache::{hash::BlockHash, pool::BlockId},
    language::{
        Context, Language,
        sampling::Sampling,
        speech::{Lengths, Speech},
    },
};
use std::sync::Arc;

/// What a client asks of the engine.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRequest {
    /// Carried through to every output: the caller's own name for it.
    pub tag: u64,
    /// Prompt tokens.
    pub prompt: Arc<[u32]>,
    /// Most tokens to generate; `None`: up to `max_model_len`.
    pub max_tokens: Option<u32>,
    /// Tokens before which the answer does not end of itself.
    pub min_tokens: u32,
    /// Whether the answer never ends of itself.
    pub ignore_eos: bool,
    /// What it asks for besides tokens.
    pub features: Features,
    /// How its tokens are chosen; `None`: always the likeliest, told without log probabilities.
    pub sampling: Option<Box<Sampling>>,
}

impl NewRequest {
    /// A request whose answer has exactly `output_tokens` tokens.
    pub fn forced(tag: u64, prompt: impl Into<Arc<[u32]>>, output_tokens: u32) -> Self {
        Self {
            tag,
            prompt: prompt.into(),
            max_tokens: Some(output_tokens),
            min_tokens: 0,
            ignore_eos: true,
            features: Features::default(),
            sampling: None,
        }
    }

    pub(crate) fn lengths(&self) -> Lengths {
        Lengths { min_tokens: self.min_tokens, ignore_eos: self.ignore_eos }
    }
}

/// Name of a request within its engine; never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Handed in, not yet taken in by the core.
    Incoming,
    /// Waiting for its first admission.
    Waiting,
    /// In the running batch.
    Running,
    /// Thrown out of the batch, waiting to be admitted again.
    Preempted,
    /// Ended; its slot is free.
    Gone,
}

/// Why generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FinishReason {
    /// The model ended its answer.
    Stop,
    /// `max_tokens` or `max_model_len` was reached.
    Length,
    /// The engine failed.
    Error,
}

/// What is known of a request in the engine. Times are nanoseconds on the engine's clock.
#[derive(Debug, Clone)]
pub struct RequestState {
    pub(crate) generation: u32,
    pub(crate) tag: u64,
    pub(crate) status: Status,
    pub(crate) aborted: bool,
    pub(crate) prompt: Arc<[u32]>,
    pub(crate) output_len: u32,
    pub(crate) num_computed: u32,
    pub(crate) max_tokens: u32,
    /// Output length after which the model ends its answer; `u32::MAX`: never.
    pub(crate) ends_at: u32,
    pub(crate) features: Features,
    /// What the language model makes of the prompt.
    pub(crate) context: Context,
    /// Mixed bits of the same: what is drawn for the request is drawn from these.
    pub(crate) begun: u64,
    /// The answer, where its tokens are chosen one by one.
    pub(crate) speech: Option<Box<Speech>>,
    pub(crate) blocks: Vec<BlockId>,
    pub(crate) hashes: Vec<BlockHash>,
    pub(crate) cached_blocks: u32,
    /// Steps that compute for it and have not ended.
    pub(crate) in_flight: u32,
    /// Tokens that steps in flight will add, drafts included, when steps are scheduled ahead of results.
    pub(crate) placeholders: u32,
    /// Drafted tokens that wait to be verified.
    pub(crate) drafts: u32,
    /// Until when it may not be admitted: its grammar is compiled, or its KV copied.
    pub(crate) blocked_until_ns: i64,
    /// Images of which the embeddings are there.
    pub(crate) images_encoded: u32,
    /// Tokens found by its last lookup: on the GPU, and in the second tier.
    pub(crate) found: (u32, u32),
    /// Whether its answer has fallen into an endless repetition.
    pub(crate) runaway: bool,
    /// API server that took it in.
    pub(crate) server: u32,
    /// Tokens that wait for their event to be full.
    pub(crate) held: Vec<Output>,
    pub(crate) life: Life,
}

/// The true course of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Life {
    /// Handed to the server.
    pub arrival_ns: i64,
    /// Its prompt is tokenised: the core may take it in.
    pub tokenised_ns: i64,
    /// Taken in by the engine's core, which looks for new requests between two steps.
    pub queued_ns: i64,
    /// First scheduled; `None` until then.
    pub scheduled_ns: Option<i64>,
    /// End of the step that gave its first token.
    pub first_token_ns: Option<i64>,
    /// End of the step that gave its latest token.
    pub last_token_ns: Option<i64>,
    /// When the API server had its first token.
    pub first_seen_ns: Option<i64>,
    /// When the API server had its latest token.
    pub last_seen_ns: Option<i64>,
    /// Prompt tokens found in a cache at its first admission, whichever.
    pub cached_tokens: u32,
    /// Of those, the ones that came from outside the GPU's own cache.
    pub external_tokens: u32,
    /// How often it was preempted.
    pub preemptions: u32,
    /// Tokens whose KV was computed, lost to a preemption, and computed again.
    pub recomputed_tokens: u64,
    /// Time between a preemption and the next admission, summed.
    pub preempted_ns: i64,
    /// The part of it before the first token.
    pub preempted_in_prefill_ns: i64,
    /// Time in the queue while its head did not fit the KV pool, whoever the head was.
    pub held_up_ns: i64,
    /// When it was last preempted, with the tokens computed until then.
    #[serde(skip)]
    pub(crate) thrown_out: Option<(i64, u32)>,
}

impl Life {
    /// Books an admission at `now_ns` that finds `found` tokens computed: one after a preemption ends its wait and says
    /// how much has to be computed again.
    pub(crate) fn readmitted(&mut self, now_ns: i64, found: u32) {
        let Some((since_ns, computed)) = self.thrown_out.take() else { return };
        self.preempted_ns += now_ns - since_ns;
        if self.first_token_ns.is_none() {
            self.preempted_in_prefill_ns += now_ns - since_ns;
        }
        self.recomputed_tokens += u64::from(computed.saturating_sub(found));
    }
}

impl RequestState {
    pub(crate) fn prompt_len(&self) -> u32 {
        self.prompt.len() as u32
    }

    pub(crate) fn num_tokens(&self) -> u32 {
        self.prompt_len() + self.output_len
    }

    /// Tokens known, or certain to be known once the steps in flight have ended.
    pub(crate) fn num_known(&self) -> u32 {
        self.num_tokens() + self.placeholders
    }

    /// Its place in a queue ordered by priority.
    pub(crate) fn order(&self) -> (i32, i64) {
        (self.features.priority, self.life.arrival_ns)
    }

    pub(crate) fn token(&self, position: u32, language: &Language) -> u32 {
        if let Some(token) = self.prompt.get(position as usize) {
            return *token;
        }
        let place = position - self.prompt_len();
        match self.speech.as_ref().and_then(|speech| speech.tokens().get(place as usize)) {
            Some(token) => *token,
            None => self.likeliest(place, language),
        }
    }

    /// The token at `place` of an answer that is not spoken.
    pub(crate) fn likeliest(&self, place: u32, language: &Language) -> u32 {
        // An answer that has run away repeats itself from here on.
        let place = if self.runaway { place.min(RUNAWAY) } else { place };
        language.token(self.context, place)
    }
}

/// Position from which on an answer that has run away repeats one token.
const RUNAWAY: u32 = 8;

/// All requests of an engine by slot; slots of ended requests are used again under a new generation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slots {
    states: Vec<RequestState>,
    free: Vec<u32>,
}

impl Slots {
    pub(crate) fn insert(&mut self, mut state: RequestState) -> RequestId {
        match self.free.pop() {
            Some(slot) => {
                let old = &mut self.states[slot as usize];
                state.generation = old.generation.wrapping_add(1);
                let id = RequestId { slot, generation: state.generation };
                // Their memory is used again.
                (state.blocks, state.hashes) = (std::mem::take(&mut old.blocks), std::mem::take(&mut old.hashes));
                *old = state;
                id
            }
            None => {
                let id = RequestId { slot: self.states.len() as u32, generation: state.generation };
                self.states.push(state);
                id
            }
        }
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        let state = &mut self.states[slot as usize];
        state.status = Status::Gone;
        state.prompt = Arc::default();
        state.blocks.clear();
        state.hashes.clear();
        state.speech = None;
        state.held = Vec::new();
        self.free.push(slot);
    }

    /// Requests that are there.
    pub(crate) fn len(&self) -> usize {
        self.states.len() - self.free.len()
    }

    /// Slots of requests that are there, in no particular order.
    pub(crate) fn live(&self) -> Vec<u32> {
        let live = |slot: &u32| self[*slot].status != Status::Gone;
        (0..self.states.len() as u32).filter(live).collect()
    }

    pub(crate) fn slot_of(&self, id: RequestId) -> Option<u32> {
        let state = self.states.get(id.slot as usize)?;
        (state.generation == id.generation && state.status != Status::Gone).then_some(id.slot)
    }

    pub(crate) fn id_of(&self, slot: u32) -> RequestId {
        RequestId { slot, generation: self.states[slot as usize].generation }
    }
}

impl std::ops::Index<u32> for Slots {
    type Output = RequestState;

    fn index(&self, slot: u32) -> &RequestState {
        &self.states[slot as usize]
    }
}

impl std::ops::IndexMut<u32> for Slots {
    fn index_mut(&mut self, slot: u32) -> &mut RequestState {
        &mut self.states[slot as usize]
    }
}
