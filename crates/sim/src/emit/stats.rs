//! What the engine counts.

use super::{
    features::{CachedBySource, CpuTime, Leaked, Lookups, Offload, RecentHits, Residency, Speculation, Transfers},
    histogram::{Buckets, Histogram},
};
use crate::{
    config::Leak,
    request::{FinishReason, Life},
    scheduler::Decisions,
};

/// Levels as the last finished step left them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gauges {
    /// Requests in the running batch.
    pub running: usize,
    /// Requests waiting for admission.
    pub waiting: usize,
    /// Of those waiting, the ones that may not be admitted yet: a grammar is compiled, KV is on its way.
    pub deferred: usize,
    /// Share of KV blocks referenced.
    pub kv_usage: f64,
}

/// Counters, levels and histograms of an engine, as its metrics page shows them. They change when a step ends, never
/// in the middle of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    /// Levels.
    pub gauges: Gauges,
    /// Preemptions.
    pub preemptions: u64,
    /// Tokens looked up in the prefix cache by first admissions.
    pub prefix_queries: u64,
    /// Tokens found by first admissions.
    pub prefix_hits: u64,
    /// Prompt tokens of requests that got their first token; those computed again after a preemption do not count.
    pub prompt_tokens: u64,
    /// The part of [`Self::prompt_tokens`] that came from a cache, whichever.
    pub cached_prompt_tokens: u64,
    /// Where admissions found tokens outside the GPU's own pool; its `device` is [`Self::prefix_hits`] and stays 0
    /// here.
    pub cached_by_source: CachedBySource,
    /// Lookups of tokens in other tiers and instances.
    pub external: Lookups,
    /// Lookups of multimodal items.
    pub multimodal: Lookups,
    /// The share of tokens found of late.
    pub recent_hits: RecentHits,
    /// Tokens generated.
    pub generation_tokens: u64,
    /// Requests that the model ended.
    pub finished_stop: u64,
    /// Requests that reached their length.
    pub finished_length: u64,
    /// Requests given up by the server.
    pub finished_abort: u64,
    /// Requests that failed in the engine.
    pub finished_error: u64,
    /// Requests ended because they repeated themselves.
    pub finished_repetition: u64,
    /// Requests refused because too many requests waited.
    pub rejected_requests: u64,
    /// Requests refused because too many tokens waited.
    pub rejected_tokens: u64,
    /// Speculative decoding, where it is on.
    pub speculation: Option<Speculation>,
    /// KV transfers, where the engine has a connector.
    pub transfers: Option<Transfers>,
    /// Stays of KV blocks, where they are sampled.
    pub residency: Option<Residency>,
    /// Host tier of the KV cache, where there is one.
    pub offload: Option<Offload>,
    /// Time on a CPU.
    pub cpu: CpuTime,
    /// Host memory that has grown by a leak, before any plateau.
    pub leaked: Leaked,
    /// Steps.
    pub steps: u64,
    /// Empty steps beside the other attention ranks of its server.
    pub empty_steps: u64,
    /// Waits for the slowest attention rank, one a step, where there are several.
    pub rank_wait: Histogram,
    /// Time spent in steps, nanoseconds.
    pub busy_ns: i64,
    /// Highest share of KV blocks referenced at a step's end.
    pub peak_kv_usage: f64,
    /// Arrival to first token.
    pub ttft: Histogram,
    /// Between two tokens of a request.
    pub itl: Histogram,
    /// Mean of the same over a request.
    pub tpot: Histogram,
    /// Arrival to last token.
    pub e2e: Histogram,
    /// Taken in to first scheduled.
    pub queue: Histogram,
    /// First scheduled to first token.
    pub prefill: Histogram,
    /// First to last token, preempted waits included.
    pub decode: Histogram,
    /// First scheduled to last token.
    pub inference: Histogram,
    /// Prompt length.
    pub request_prompt_tokens: Histogram,
    /// Answer length.
    pub request_generation_tokens: Histogram,
    /// Length asked for.
    pub request_max_tokens: Histogram,
    /// Prompt tokens computed rather than found.
    pub request_computed_tokens: Histogram,
    /// Preemptions a request.
    pub request_preemptions: Histogram,
    /// Answers asked for at once.
    pub request_choices: Histogram,
    /// Tokens that a step reported: generated ones, and prompts that it completed.
    pub iteration_tokens: Histogram,
}

/// What an ended request counts, besides its life.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) reason: FinishReason,
    pub(crate) prompt_tokens: u32,
    pub(crate) output_tokens: u32,
    pub(crate) max_tokens: u32,
    /// When the frontend had its last token.
    pub(crate) seen_ns: i64,
}

impl Stats {
    pub(crate) fn new(max_model_len: u32) -> Self {
        let request = || Histogram::new(Buckets::REQUEST);
        let tokens = || Histogram::new(Buckets::tokens(max_model_len));
        Self {
            gauges: Gauges::default(),
            preemptions: 0,
            prefix_queries: 0,
            prefix_hits: 0,
            prompt_tokens: 0,
            cached_prompt_tokens: 0,
            cached_by_source: CachedBySource::default(),
            external: Lookups::default(),
            multimodal: Lookups::default(),
            recent_hits: RecentHits::default(),
            generation_tokens: 0,
            finished_stop: 0,
            finished_length: 0,
            finished_abort: 0,
            finished_error: 0,
            finished_repetition: 0,
            rejected_requests: 0,
            rejected_tokens: 0,
            speculation: None,
            transfers: None,
            residency: None,
            offload: None,
            cpu: CpuTime::default(),
            leaked: Leaked::default(),
            steps: 0,
            empty_steps: 0,
            rank_wait: Histogram::new(Buckets::RANK_WAIT),
            busy_ns: 0,
            peak_kv_usage: 0.0,
            ttft: Histogram::new(Buckets::FIRST_TOKEN),
            itl: Histogram::new(Buckets::TOKEN_GAP),
            tpot: Histogram::new(Buckets::TOKEN_GAP),
            e2e: request(),
            queue: request(),
            prefill: request(),
            decode: request(),
            inference: request(),
            request_prompt_tokens: tokens(),
            request_generation_tokens: tokens(),
            request_max_tokens: tokens(),
            request_computed_tokens: tokens(),
            request_preemptions: Histogram::new(Buckets::PREEMPTIONS),
            request_choices: Histogram::new(Buckets::CHOICES),
            iteration_tokens: Histogram::new(Buckets::ITERATION),
        }
    }

    pub(crate) fn decided(&mut self, decisions: Decisions) {
        self.preemptions += u64::from(decisions.preempted);
        self.prefix_queries += decisions.prefix_queries;
        self.prefix_hits += decisions.prefix_hits;
        if decisions.prefix_queries > 0 {
            let lookups = u64::from(decisions.admitted);
            self.recent_hits.observe(lookups, decisions.prefix_queries, decisions.prefix_hits);
        }
    }

    /// Lets host memory grow by what has happened since it was last called; called when a step ends.
    pub(crate) fn leak(&mut self, leak: &Leak, now_ns: i64) {
        let finished = self.request_prompt_tokens.count();
        self.leaked.advance(leak, [finished, self.prompt_tokens, self.generation_tokens], now_ns);
    }

    pub(crate) fn first_token(&mut self, life: &Life, prompt_tokens: u32, now_ns: i64) {
        self.ttft.observe(now_ns - life.arrival_ns);
        self.prompt_tokens += u64::from(prompt_tokens);
        self.cached_prompt_tokens += u64::from(life.cached_tokens);
    }

    pub(crate) fn ended(&mut self, life: &Life, ended: Ended) {
        match ended.reason {
            FinishReason::Stop => self.finished_stop += 1,
            FinishReason::Length => self.finished_length += 1,
            FinishReason::Error => self.finished_error += 1,
        }
        let (Some(scheduled), Some(first), Some(last)) = (life.scheduled_ns, life.first_token_ns, life.last_token_ns)
        else {
            return;
        };
        let gaps = i64::from(ended.output_tokens.saturating_sub(1));
        self.e2e.observe(ended.seen_ns - life.arrival_ns);
        self.queue.observe(scheduled - life.queued_ns);
        self.prefill.observe(first - scheduled);
        self.decode.observe(last - first);
        self.inference.observe(last - scheduled);
        self.tpot.observe(if gaps > 0 { (last - first) / gaps } else { 0 });
        self.request_prompt_tokens.observe(i64::from(ended.prompt_tokens));
        self.request_generation_tokens.observe(i64::from(ended.output_tokens));
        self.request_max_tokens.observe(i64::from(ended.max_tokens));
        self.request_computed_tokens.observe(i64::from(ended.prompt_tokens.saturating_sub(life.cached_tokens)));
        self.request_preemptions.observe(i64::from(life.preemptions));
        self.request_choices.observe(1);
    }
}
