//! The rules of SGLang's scheduler and radix cache, under its own names and with its own defaults.

use super::{ConfigError, error::within};
use crate::radix_cache::Eviction;
use serde::{Deserialize, Serialize};

/// In which order waiting requests are tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulePolicy {
    /// First come, first served.
    #[default]
    Fcfs,
    /// Longest cached prefix first.
    Lpm,
    /// Whole subtrees of the cache after one another, the heaviest first.
    DfsWeight,
    /// Highest response ratio next: tokens prefilled while it waited, to those it needs itself.
    Hrrn,
    /// Fewest tokens to compute first.
    ShortestPrefillFirst,
    /// Longest output asked for first.
    Lof,
    /// A new order each time.
    Random,
}

impl SchedulePolicy {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fcfs => "fcfs",
            Self::Lpm => "lpm",
            Self::DfsWeight => "dfs-weight",
            Self::Hrrn => "hrrn",
            Self::ShortestPrefillFirst => "shortest-prefill-first",
            Self::Lof => "lof",
            Self::Random => "random",
        }
    }

    /// Whether it looks into the cache.
    pub const fn cache_aware(self) -> bool {
        matches!(self, Self::Lpm | Self::DfsWeight | Self::Hrrn | Self::ShortestPrefillFirst)
    }
}

/// Rules of SGLang 0.5.23; sizes as it chooses them for Llama 3.1 8B on one H100.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sglang {
    /// KV capacity, tokens. Capacity is this count, never a guess from memory sizes.
    pub max_total_num_tokens: u32,
    /// Tokens a KV page.
    pub page_size: u32,
    /// Most requests in the running batch.
    pub max_running_requests: u32,
    /// Most prompt tokens a step; a prompt beyond it is computed in chunks. `None`: no chunks.
    pub chunked_prefill_size: Option<u32>,
    /// Prompt tokens after which a prefill batch takes no further request.
    pub max_prefill_tokens: u32,
    /// Most requests of a prefill batch.
    pub prefill_max_requests: Option<u32>,
    /// In which order waiting requests are tried.
    pub schedule_policy: SchedulePolicy,
    /// Waiting requests above which `lpm` and `hrrn` leave the queue as it is.
    pub cache_aware_waiting_max: u32,
    /// A waiting request with a cached prefix of at most so many tokens is compared with the others that wait; `None`:
    /// none is.
    pub in_batch_check_threshold: Option<u32>,
    /// A waiting request that shares so many tokens with one before it in the queue is put off until that one is cached.
    pub in_batch_deprioritize_threshold: u32,
    /// Attempts at a prefill batch under `fcfs` after which waiting prefixes are marked as used; 0: never.
    pub fcfs_touch_interval: u32,
    /// How many waiting prefixes are marked as used, from the head of the queue.
    pub fcfs_touch_depth: u32,
    /// Most output tokens that are reserved for a request, whatever it asks for.
    pub clip_max_new_tokens: u32,
    /// Factor on the share of output that is reserved for running requests.
    pub schedule_conservativeness: f64,
    /// Share of their remaining output that is reserved for running requests at first.
    pub init_new_token_ratio: f64,
    /// The least share, as a part of the first.
    pub min_new_token_ratio_factor: f64,
    /// Decode steps from the first share to the least.
    pub new_token_ratio_decay_steps: u32,
    /// Decode steps for which room is made by a retraction.
    pub retract_decode_steps: u32,
    /// Whether the whole output of a request that never ends of itself is reserved while it runs.
    pub reserve_ignore_eos_whole: bool,
    /// Whether a decode step that lacks memory waits for a request of the step in hand that is known to end with it.
    pub retraction_waits_for_finish: bool,
    /// Whether a step is decided only when the results of the last one are in.
    pub disable_overlap_schedule: bool,
    /// Whether a request that ends by its length with the step in hand is left out of the next one.
    pub overlap_skips_known_length: bool,
    /// Whether running requests decode in prefill steps too.
    pub enable_mixed_chunk: bool,
    /// Decode steps that must follow a prefill step while requests run.
    pub prefill_decode_interval: u32,
    /// Whether nothing is cached.
    pub disable_radix_cache: bool,
    /// In which order cached prefixes are evicted.
    pub radix_eviction_policy: Eviction,
    /// Whether no more is evicted than is lacking; older versions evict as much as is asked for.
    pub evict_shortfall_only: bool,
    /// Whether the prompt of a request that ends is a node of its own, so that its answer can be evicted without it.
    pub split_at_prompt: bool,
    /// Decode steps between two lines of the log, and between two settings of the gauges by decode steps.
    pub decode_log_interval: u32,
    /// Stated in the server's arguments; the capacity is [`Self::max_total_num_tokens`].
    pub mem_fraction_static: f64,
}

impl Default for Sglang {
    fn default() -> Self {
        Self {
            max_total_num_tokens: 432_000,
            page_size: 1,
            max_running_requests: 2048,
            chunked_prefill_size: Some(8192),
            max_prefill_tokens: 16_384,
            prefill_max_requests: None,
            schedule_policy: SchedulePolicy::Fcfs,
            cache_aware_waiting_max: 128,
            in_batch_check_threshold: Some(32),
            in_batch_deprioritize_threshold: 32,
            fcfs_touch_interval: 32,
            fcfs_touch_depth: 128,
            clip_max_new_tokens: 4096,
            schedule_conservativeness: 1.0,
            init_new_token_ratio: 0.7,
            min_new_token_ratio_factor: 0.14,
            new_token_ratio_decay_steps: 600,
            retract_decode_steps: 20,
            reserve_ignore_eos_whole: false,
            retraction_waits_for_finish: true,
            disable_overlap_schedule: false,
            overlap_skips_known_length: true,
            enable_mixed_chunk: false,
            prefill_decode_interval: 0,
            disable_radix_cache: false,
            radix_eviction_policy: Eviction::Lru,
            evict_shortfall_only: true,
            split_at_prompt: true,
            decode_log_interval: 40,
            mem_fraction_static: 0.87,
        }
    }
}

impl Sglang {
    /// The policy that is followed: without a cache those that look into it follow the queue.
    pub fn active_policy(&self) -> SchedulePolicy {
        match self.schedule_policy {
            policy if self.disable_radix_cache && policy.cache_aware() => SchedulePolicy::Fcfs,
            policy => policy,
        }
    }

    /// Capacity in whole pages, tokens.
    pub fn kv_tokens(&self) -> u32 {
        self.max_total_num_tokens / self.page_size.max(1) * self.page_size.max(1)
    }

    /// What the pool is made of, before and after: fixed when the engine starts.
    pub(super) fn fixed(&self, after: &Self) -> [(&'static str, String, String); 4] {
        let pool = |rules: &Self| {
            let caching = rules.disable_radix_cache.to_string();
            [rules.max_total_num_tokens.to_string(), rules.page_size.to_string(), caching]
        };
        let ([tokens, page, caching], [tokens_after, page_after, caching_after]) = (pool(self), pool(after));
        let eviction = |rules: &Self| format!("{:?}", rules.radix_eviction_policy);
        [
            ("sglang.max_total_num_tokens", tokens, tokens_after),
            ("sglang.page_size", page, page_after),
            ("sglang.disable_radix_cache", caching, caching_after),
            ("sglang.radix_eviction_policy", eviction(self), eviction(after)),
        ]
    }

    pub(super) fn validate(&self, max_model_len: u32) -> Result<(), ConfigError> {
        let whole = [
            ("sglang.max_total_num_tokens", self.max_total_num_tokens, 2, 1 << 30, "2 to 1073741824"),
            ("sglang.page_size", self.page_size, 1, 1 << 12, "1 to 4096"),
            ("sglang.max_running_requests", self.max_running_requests, 1, 1 << 20, "1 to 1048576"),
            ("sglang.max_prefill_tokens", self.max_prefill_tokens, 1, 1 << 24, "1 to 16777216"),
            ("sglang.prefill_max_requests", self.prefill_max_requests.unwrap_or(1), 1, 1 << 20, "1 to 1048576"),
            ("sglang.new_token_ratio_decay_steps", self.new_token_ratio_decay_steps, 1, 1 << 24, "1 to 16777216"),
            ("sglang.decode_log_interval", self.decode_log_interval, 1, 1 << 24, "1 to 16777216"),
            ("sglang.retract_decode_steps", self.retract_decode_steps, 0, 1 << 16, "0 to 65536"),
            ("sglang.prefill_decode_interval", self.prefill_decode_interval, 0, 1 << 24, "0 to 16777216"),
        ];
        for (name, value, least, most, expected) in whole {
            within(name, value, least, most, expected)?;
        }
        let real = [
            ("sglang.schedule_conservativeness", self.schedule_conservativeness, 0.0, 100.0, "0 to 100"),
            ("sglang.init_new_token_ratio", self.init_new_token_ratio, 0.0, 1.0, "0 to 1"),
            ("sglang.min_new_token_ratio_factor", self.min_new_token_ratio_factor, 0.0, 1.0, "0 to 1"),
            ("sglang.mem_fraction_static", self.mem_fraction_static, 0.0, 1.0, "0 to 1"),
        ];
        for (name, value, least, most, expected) in real {
            within(name, value, least, most, expected)?;
        }
        self.validate_pages(max_model_len)
    }

    /// A chunk is whole pages, and a sequence of the greatest length fits besides the page that admission keeps
    /// back: otherwise it would wait for good.
    fn validate_pages(&self, max_model_len: u32) -> Result<(), ConfigError> {
        if let Some(size) = self.chunked_prefill_size
            && (size == 0 || !size.is_multiple_of(self.page_size))
        {
            let (name, expected) = ("sglang.chunked_prefill_size", "whole pages, one at least");
            return Err(ConfigError::OutOfRange { name, value: size.to_string(), expected });
        }
        let (capacity, page) = (self.kv_tokens(), self.page_size);
        let needed = max_model_len.saturating_add(page);
        if needed >= capacity {
            return Err(ConfigError::TokenPoolTooSmall { max_model_len, page, capacity });
        }
        if self.schedule_policy == SchedulePolicy::ShortestPrefillFirst && self.disable_radix_cache {
            let (name, value) = ("sglang.schedule_policy", self.schedule_policy.name().to_owned());
            return Err(ConfigError::OutOfRange { name, value, expected: "another, or the radix cache enabled" });
        }
        Ok(())
    }
}
