//! SGLang's metrics page. Its gauges change with its reports only, and its token counters when a request ends.

use crate::{
    config::EngineConfig,
    emit::{
        histogram::Histogram,
        metrics::{EngineLabels, Family, FamilyKind, Sample},
        stats::Stats,
        version::Version,
    },
    engine::Engine,
    sglang::{Gauges, SglangView, Totals},
};
use firstcheck_model::signal::Part;
use std::borrow::Cow;

type Labels<'a> = Vec<(&'static str, Cow<'a, str>)>;

/// The first release that is known to have a family, where not every one has.
const V0_5_2: Version = Version::new(0, 5, 2);
const V0_5_4: Version = Version::new(0, 5, 4);
const V0_5_6: Version = Version::new(0, 5, 6);
const V0_5_8: Version = Version::new(0, 5, 8);
const V0_5_10: Version = Version::new(0, 5, 10);
const V0_5_14: Version = Version::new(0, 5, 14);
const V0_5_18: Version = Version::new(0, 5, 18);
const V0_5_23: Version = Version::new(0, 5, 23);
const ALL: Version = Version::new(0, 4, 6);

/// Builds families for one server.
struct Page<'a> {
    model: &'a str,
    version: Version,
    /// Which attention rank it is, where the server has several.
    data_rank: Option<u32>,
    families: Vec<Family<'a>>,
}

/// All families as they stand; for one engine always the same ones in the same order.
pub(crate) fn families<'a>(engine: &'a Engine, view: &SglangView<'a>) -> Vec<Family<'a>> {
    let config = engine.config();
    // A version that is no number is taken for the newest.
    let version = Version::read(&config.version).unwrap_or(V0_5_23);
    let data = config.parallel.data;
    let data_rank = (data.of > 1).then_some(data.rank);
    let mut page = Page { model: &config.model_name, version, data_rank, families: Vec::new() };
    page.levels(view.gauges());
    page.constants(config);
    page.totals(view.totals(), view.tokens().evicted);
    page.requests(engine.stats());
    page.data_ranks(engine.stats());
    page.families
}

impl<'a> Page<'a> {
    /// Levels of the scheduler: `(name, help, value, since)`.
    fn levels(&mut self, gauges: &Gauges) {
        let levels = [
            ("sglang:num_running_reqs", "The number of running requests.", f64::from(gauges.running), ALL),
            ("sglang:num_queue_reqs", "The number of requests in the waiting queue.", f64::from(gauges.queue), ALL),
            ("sglang:num_grammar_queue_reqs", "The number of requests in the grammar waiting queue.", 0.0, ALL),
            ("sglang:gen_throughput", "The generation throughput (token/s).", gauges.gen_throughput, ALL),
            ("sglang:cache_hit_rate", "The prefix cache hit rate.", gauges.cache_hit_rate, ALL),
            ("sglang:spec_accept_length", "Mean tokens a round of speculation; 0 without.", 0.0, ALL),
            ("sglang:token_usage", "The token usage.", gauges.usage, ALL),
            ("sglang:num_used_tokens", "The number of used tokens.", f64::from(gauges.used), ALL),
            ("sglang:num_retracted_reqs", "The number of retracted requests.", f64::from(gauges.retracted), V0_5_2),
            ("sglang:num_paused_reqs", "The number of paused requests by async weight sync.", 0.0, V0_5_2),
            (
                "sglang:is_cuda_graph",
                "Whether the batch is using CUDA graph.",
                f64::from(u8::from(gauges.graph)),
                V0_5_4,
            ),
            ("sglang:new_token_ratio", "The new token ratio.", gauges.new_token_ratio, V0_5_6),
            (
                "sglang:decode_sum_seq_lens",
                "The sum of all sequence lengths in decode.",
                gauges.decode_tokens as f64,
                V0_5_8,
            ),
            ("sglang:full_token_usage", "The token usage for full attention layers.", gauges.usage, V0_5_10),
            (
                "sglang:kv_available_tokens",
                "Number of free token slots in the KV cache pool.",
                f64::from(gauges.available),
                V0_5_14,
            ),
            (
                "sglang:kv_evictable_tokens",
                "Number of evictable (radix-cached) token slots in the KV cache pool.",
                f64::from(gauges.evictable),
                V0_5_14,
            ),
            (
                "sglang:kv_used_tokens",
                "Number of actively used token slots in the KV cache pool.",
                f64::from(gauges.used),
                V0_5_14,
            ),
        ];
        for (name, help, value, since) in levels {
            self.one(FamilyKind::Gauge, name, help, value, since);
        }
    }

    /// What does not change while the server runs.
    fn constants(&mut self, config: &EngineConfig) {
        let rules = &config.sglang;
        let pages = rules.kv_tokens() / rules.page_size.max(1);
        let constants = [
            (
                "sglang:max_total_num_tokens",
                "Maximum total number of tokens in the KV cache pool.",
                rules.kv_tokens(),
                V0_5_6,
            ),
            ("sglang:page_size", "KV cache page size in tokens.", rules.page_size, V0_5_14),
            ("sglang:num_pages", "Number of KV cache pages.", pages, V0_5_14),
            ("sglang:context_len", "Maximum context length.", config.max_model_len, V0_5_14),
        ];
        for (name, help, value, since) in constants {
            self.one(FamilyKind::Gauge, name, help, f64::from(value), since);
        }
    }

    fn totals(&mut self, totals: &Totals, evicted: u64) {
        let counters = [
            ("sglang:num_retracted_requests_total", "Total number of retracted requests.", totals.retracted, V0_5_8),
            (
                "sglang:num_retracted_input_tokens_total",
                "Total number of retracted input tokens.",
                totals.retracted_input,
                V0_5_8,
            ),
            (
                "sglang:num_retracted_output_tokens_total",
                "Total number of retracted output tokens.",
                totals.retracted_output,
                V0_5_8,
            ),
            ("sglang:evicted_tokens_total", evicted_help(self.version), evicted, V0_5_6),
        ];
        for (name, help, value, since) in counters {
            self.one(FamilyKind::Counter, name, help, value as f64, since);
        }
        self.by(
            ("sglang:realtime_tokens_total", "Total number of tokens processed (updated on each log interval)."),
            "mode",
            &[
                ("prefill_compute", totals.prefill_compute),
                ("prefill_cache", totals.prefill_cache),
                ("decode", totals.decode),
            ],
            V0_5_8,
        );
        self.by(
            (
                "sglang:prefill_effective_tokens_total",
                "Effective prefill tokens with retracted-request re-counts excluded, updated on each log interval.",
            ),
            "mode",
            &[("input", totals.effective_input), ("device_hit", totals.effective_hit)],
            V0_5_18,
        );
        self.by(
            ("sglang:cuda_graph_passes_total", "Total number of forward passes categorized by CUDA graph."),
            "mode",
            &[
                ("prefill_none", totals.prefill_passes),
                ("decode_cuda_graph", totals.graph_passes),
                ("decode_none", totals.eager_passes),
            ],
            V0_5_8,
        );
    }

    /// What the attention ranks of a server count of their steps together.
    fn data_ranks(&mut self, stats: &Stats) {
        if self.data_rank.is_none() {
            return;
        }
        self.by(
            (
                "sglang:dp_attention_steps_total",
                "MLP-sync steps on this DP rank. rank_state=idle: this rank had no tokens and only ran to keep the DP \
                 collectives in lockstep.",
            ),
            "rank_state",
            &[("busy", stats.steps), ("idle", stats.empty_steps)],
            V0_5_23,
        );
        let ranks = self.ranks();
        self.histogram(
            "sglang:dp_attention_sync_wait_seconds",
            "Wall time of this DP rank's scheduler MLP-sync all-gather per step.",
            &stats.rank_wait,
            ranks,
            V0_5_23,
        );
    }

    /// What is counted when a request gets a token or ends.
    fn requests(&mut self, stats: &Stats) {
        let ranks = self.ranks();
        self.histogram(
            "sglang:queue_time_seconds",
            "Histogram of queueing time in seconds.",
            &stats.queue,
            ranks,
            V0_5_4,
        );
        let (prompt, computed) = (stats.request_prompt_tokens.sum(), stats.request_computed_tokens.sum());
        let ended = stats.e2e.count() as f64;
        let streamed = self.streamed();
        for (name, help, value) in [
            ("sglang:prompt_tokens_total", "Number of prefill tokens processed.", prompt),
            (
                "sglang:generation_tokens_total",
                "Number of generation tokens processed.",
                stats.request_generation_tokens.sum(),
            ),
            ("sglang:num_requests_total", "Number of requests processed.", ended),
        ] {
            let sample = Sample { part: Part::Value, labels: streamed.clone(), value };
            self.push(FamilyKind::Counter, name, help, vec![sample], ALL);
        }
        let mut device = self.model();
        device.push(("cache_source", Cow::Borrowed("device")));
        let cached = Sample { part: Part::Value, labels: device, value: prompt - computed };
        let help = "Number of cached prompt tokens by source (device/host/storage).";
        self.push(FamilyKind::Counter, "sglang:cached_tokens_total", help, vec![cached], ALL);
        self.request_histograms(stats, streamed);
    }

    /// Times and lengths of requests.
    fn request_histograms(&mut self, stats: &Stats, streamed: Labels<'a>) {
        for (name, help, values, labels, since) in [
            (
                "sglang:time_to_first_token_seconds",
                "Histogram of time to first token in seconds.",
                &stats.ttft,
                streamed.clone(),
                ALL,
            ),
            (
                "sglang:inter_token_latency_seconds",
                "Histogram of inter-token latency in seconds.",
                &stats.itl,
                self.model(),
                ALL,
            ),
            (
                "sglang:request_time_per_output_token_seconds",
                "Per-request TPOT in seconds: (finished_time - first_token_time) / (completion_tokens - 1).",
                &stats.tpot,
                streamed.clone(),
                V0_5_23,
            ),
            (
                "sglang:e2e_request_latency_seconds",
                "Histogram of End-to-end request latency in seconds",
                &stats.e2e,
                streamed,
                ALL,
            ),
            (
                "sglang:prompt_tokens_histogram",
                "Histogram of prompt token length.",
                &stats.request_prompt_tokens,
                self.model(),
                V0_5_2,
            ),
            (
                "sglang:uncached_prompt_tokens_histogram",
                "Histogram of uncached (compute) prompt token length.",
                &stats.request_computed_tokens,
                self.model(),
                V0_5_14,
            ),
            (
                "sglang:generation_tokens_histogram",
                "Histogram of generation token length.",
                &stats.request_generation_tokens,
                self.model(),
                V0_5_2,
            ),
        ] {
            self.histogram(name, help, values, labels, since);
        }
    }

    /// Labels of the scheduler's families.
    fn ranks(&self) -> Labels<'a> {
        let mut labels = self.model();
        // The rank of expert parallelism came with the families of 0.5.8.
        if self.version >= V0_5_8 {
            labels.push(("moe_ep_rank", Cow::Borrowed("0")));
        }
        // An attention rank is a rank of all that is split as well.
        let rank = self.data_rank.map_or(Cow::Borrowed("0"), |rank| Cow::Owned(rank.to_string()));
        labels.extend([("tp_rank", rank.clone()), ("pp_rank", Cow::Borrowed("0"))]);
        labels.extend(self.data_rank.map(|_| ("dp_rank", rank)));
        labels
    }

    /// Labels of the families of requests.
    fn model(&self) -> Labels<'a> {
        vec![("model_name", Cow::Borrowed(self.model)), ("engine_type", Cow::Borrowed("unified"))]
    }

    /// The same where streamed answers are counted apart. All simulated ones are streamed.
    fn streamed(&self) -> Labels<'a> {
        let mut labels = self.model();
        if self.version >= V0_5_23 {
            labels.push(("is_streaming", Cow::Borrowed("true")));
        }
        labels
    }

    fn one(&mut self, kind: FamilyKind, name: &'static str, help: &'static str, value: f64, since: Version) {
        let sample = Sample { part: Part::Value, labels: self.ranks(), value };
        self.push(kind, name, help, vec![sample], since);
    }

    /// A counter with one sample for each value of a label.
    fn by(
        &mut self,
        (name, help): (&'static str, &'static str),
        label: &'static str,
        values: &[(&'static str, u64)],
        since: Version,
    ) {
        let sample = |(named, value): &(&'static str, u64)| {
            let mut labels = self.ranks();
            labels.push((label, Cow::Borrowed(*named)));
            Sample { part: Part::Value, labels, value: *value as f64 }
        };
        let samples = values.iter().map(sample).collect();
        self.push(FamilyKind::Counter, name, help, samples, since);
    }

    fn histogram(
        &mut self,
        name: &'static str,
        help: &'static str,
        values: &Histogram,
        labels: Labels<'a>,
        since: Version,
    ) {
        let mut samples = Family::histogram(name, help, values).samples;
        samples.iter_mut().for_each(|sample| sample.labels.clone_from(&labels));
        self.push(FamilyKind::Histogram, name, help, samples, since);
    }

    fn push(
        &mut self,
        kind: FamilyKind,
        name: &'static str,
        help: &'static str,
        samples: Vec<Sample<'a>>,
        since: Version,
    ) {
        if self.version >= since {
            self.families.push(Family { name, help, kind, engine_labels: EngineLabels::None, samples });
        }
    }
}

fn evicted_help(version: Version) -> &'static str {
    if version >= V0_5_23 {
        "The number of device KV token slots freed by eviction, regardless of whether the data was backed up to host \
         (see sglang:hicache_backup_tokens_total) or destroyed (see sglang:hicache_dropped_tokens_total)."
    } else {
        "The number of tokens evicted from GPU to CPU."
    }
}
