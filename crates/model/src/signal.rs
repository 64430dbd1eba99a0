//! Engine-neutral names of what a deployment exposes, and the series that carry them.

use crate::{
    measurement::{Missing, Why},
    moment::{Moment, Window},
    unit::Seconds,
};
use serde::{Deserialize, Serialize};

macro_rules! signals {
    ($($(#[$meta:meta])* $variant:ident = $name:literal;)+) => {
        /// What a series means, whatever an engine calls it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Signal { $($(#[$meta])* $variant),+ }

        impl Signal {
            /// All signals.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The engine-neutral name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

impl Signal {
    /// Whether it is something that an engine alone says: processes, containers and GPUs say theirs whatever runs.
    pub fn is_of_an_engine(self) -> bool {
        let others = ["process_", "container_", "gpu_"];
        !others.iter().any(|other| self.name().starts_with(other))
    }
}

signals! {
    /// Requests in the running batch (gauge).
    Running = "running";
    /// Requests waiting for admission (gauge).
    Waiting = "waiting";
    /// Of the waiting ones those that wait for something of their own, as a load of KV, and not for room (gauge).
    WaitingDeferred = "waiting_deferred";
    /// Share of KV blocks in use, 0 to 1 (gauge).
    KvCacheUsage = "kv_cache_usage";
    /// Preemptions, or retractions (counter).
    Preemptions = "preemptions";
    /// Tokens looked up in the prefix cache (counter).
    PrefixQueries = "prefix_queries";
    /// Tokens found in the prefix cache (counter).
    PrefixHits = "prefix_hits";
    /// Prompt tokens processed (counter).
    PromptTokens = "prompt_tokens";
    /// Tokens generated (counter).
    GenerationTokens = "generation_tokens";
    /// Requests finished, by reason (counter).
    Finished = "finished";
    /// Time to first token, from arrival at the server (histogram).
    Ttft = "ttft";
    /// Inter-token latency (histogram).
    Itl = "itl";
    /// Time per output token, one a request (histogram).
    Tpot = "tpot";
    /// Whole request (histogram).
    E2e = "e2e";
    /// Wait until first scheduled (histogram).
    QueueTime = "queue_time";
    /// First scheduled to first token (histogram).
    PrefillTime = "prefill_time";
    /// First to last token, preempted waits included (histogram).
    DecodeTime = "decode_time";
    /// First scheduled to last token (histogram).
    InferenceTime = "inference_time";
    /// Prompt tokens computed, not found in a cache, one a request (histogram).
    PrefillComputedTokens = "prefill_computed_tokens";
    /// Tokens a step (histogram).
    IterationTokens = "iteration_tokens";
    /// KV-cache configuration as labels (info gauge).
    CacheConfig = "cache_config";
    /// Start of the server process, Unix seconds (gauge).
    ProcessStart = "process_start";
    /// Resident memory of a process, bytes (gauge).
    ProcessMemory = "process_memory";
    /// Swapped memory of a process, bytes (gauge).
    ProcessSwap = "process_swap";
    /// Requests that ended in an error (counter).
    Failed = "failed";
    /// Requests refused because a limit was reached (counter).
    Rejected = "rejected";
    /// Prompt tokens, one a request (histogram).
    PromptLength = "prompt_length";
    /// Tokens generated, one a request (histogram).
    GenerationLength = "generation_length";
    /// Rounds of speculation (counter).
    Drafts = "drafts";
    /// Tokens drafted by speculation (counter).
    DraftTokens = "draft_tokens";
    /// Drafted tokens that were accepted (counter).
    AcceptedTokens = "accepted_tokens";
    /// Tokens looked up behind the device's prefix cache: in host memory, storage, another engine (counter).
    ExternalQueries = "external_queries";
    /// Of those, tokens found (counter).
    ExternalHits = "external_hits";
    /// Tokens of KV loaded into the device from host memory, storage or another engine (counter).
    KvLoadedTokens = "kv_loaded_tokens";
    /// Tokens of KV stored from the device (counter).
    KvStoredTokens = "kv_stored_tokens";
    /// Bytes of KV loaded (counter).
    KvLoadedBytes = "kv_loaded_bytes";
    /// Bytes of KV stored (counter).
    KvStoredBytes = "kv_stored_bytes";
    /// Time that loads of KV took, all together (counter).
    KvLoadBusy = "kv_load_busy";
    /// Time that stores of KV took, all together (counter).
    KvStoreBusy = "kv_store_busy";
    /// One operation that loads KV, bytes (histogram).
    KvLoadSize = "kv_load_size";
    /// One look-up in a second KV tier, seconds (histogram).
    KvLookupTime = "kv_lookup_time";
    /// One load of KV, seconds (histogram).
    KvLoadTime = "kv_load_time";
    /// One store of KV, seconds (histogram).
    KvStoreTime = "kv_store_time";
    /// One transfer of KV between a prefill and a decode engine, seconds (histogram).
    KvTransferTime = "kv_transfer_time";
    /// Its size, bytes (histogram).
    KvTransferBytes = "kv_transfer_bytes";
    /// Time to hand it to the network, seconds (histogram).
    KvTransferPost = "kv_transfer_post";
    /// Pieces of memory that it consists of (histogram).
    KvTransferDescriptors = "kv_transfer_descriptors";
    /// Compilation of one grammar of structured output, seconds (histogram).
    GrammarTime = "grammar_time";
    /// Time for which a prefill was held back to wait for other ranks, seconds (histogram).
    PrefillDelay = "prefill_delay";
    /// Steps that a rank took with the others of its server, by whether it had anything to compute (counter).
    RankSteps = "rank_steps";
    /// Time that a rank waits in a step for the slowest rank of its server (histogram).
    RankWait = "rank_wait";
    /// Transfers of KV that failed (counter).
    KvTransferFailures = "kv_transfer_failures";
    /// Requests whose KV was given up before the other engine fetched it (counter).
    KvExpired = "kv_expired";
    /// Anonymous memory of a container, bytes (gauge).
    ContainerRss = "container_rss";
    /// Swapped memory of a container, bytes (gauge).
    ContainerSwap = "container_swap";
    /// Memory of a container that cannot be reclaimed at once, bytes (gauge).
    ContainerWorkingSet = "container_working_set";
    /// Memory that a container may use, bytes; 0 is no limit (gauge).
    ContainerLimit = "container_limit";
    /// Scheduling periods of a container with a limit of processor time (counter).
    ContainerCpuPeriods = "container_cpu_periods";
    /// Of those, periods in which it was held back (counter).
    ContainerCpuThrottled = "container_cpu_throttled";
    /// Clock of a GPU's multiprocessors, MHz (gauge).
    GpuSmClock = "gpu_sm_clock";
    /// Clock of a GPU's memory, MHz (gauge).
    GpuMemoryClock = "gpu_memory_clock";
    /// Power that a GPU draws, watts (gauge).
    GpuPower = "gpu_power";
    /// Power that a GPU may draw, watts (gauge).
    GpuPowerLimit = "gpu_power_limit";
    /// Temperature of a GPU, degrees Celsius (gauge).
    GpuTemperature = "gpu_temperature";
    /// Share of time in which a kernel ran, percent (gauge).
    GpuUtilisation = "gpu_utilisation";
    /// Share of cycles in which tensor cores worked, 0 to 1 (gauge).
    GpuTensorActive = "gpu_tensor_active";
    /// Share of cycles in which device memory was read or written, 0 to 1 (gauge).
    GpuMemoryActive = "gpu_memory_active";
    /// Device memory in use, MiB (gauge).
    GpuMemoryUsed = "gpu_memory_used";
    /// What holds a GPU's clocks down now, as NVML's bits (gauge).
    GpuThrottleReasons = "gpu_throttle_reasons";
    /// Time for which power held a GPU's clocks down, in the exporter's unit (counter).
    GpuPowerThrottled = "gpu_power_throttled";
    /// Time for which heat held a GPU's clocks down, in the exporter's unit (counter).
    GpuThermalThrottled = "gpu_thermal_throttled";
    /// The driver's last error of a GPU, as XID; 0 is none (gauge).
    GpuXid = "gpu_xid";
    /// Repeated packets on a GPU's PCIe link (counter).
    GpuPcieReplays = "gpu_pcie_replays";
}

/// Which part of a family a series is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The value of a counter or gauge.
    Value,
    /// A histogram's or summary's `_sum`.
    Sum,
    /// A histogram's or summary's `_count`.
    Count,
    /// A histogram's cumulative bucket with its upper bound (`+∞` for the last).
    Bucket(f64),
    /// A summary's quantile.
    Quantile(f64),
}

/// How values of a series behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// Only grows, restarts from zero.
    Counter,
    /// Goes up and down.
    Gauge,
    /// The page did not say.
    Untyped,
}

/// Label names and values, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Labels(pub Vec<(String, String)>);

impl Labels {
    /// Labels from pairs, sorted.
    pub fn new(mut pairs: Vec<(String, String)>) -> Self {
        pairs.sort();
        Self(pairs)
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// As a page writes them: `{a="b",c="d"}`; empty without labels.
    pub fn render(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let inner: Vec<String> = self.0.iter().map(|(n, v)| format!("{n}={v:?}")).collect();
        format!("{{{}}}", inner.join(","))
    }
}

/// One series: a raw name with labels, and its samples in time order.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name as the page writes it, suffix included (`vllm:num_preemptions_total`).
    pub name: String,
    /// Labels, without the bucket's `le` and the summary's `quantile` (those are in `part`).
    pub labels: Labels,
    /// Which page it came from (`main`, or the name given to an extra page).
    pub page: String,
    /// Counter or gauge.
    pub kind: SeriesKind,
    /// Which part of its family.
    pub part: Part,
    /// What it means, if the vocabulary knows the name.
    pub signal: Option<Signal>,
    /// Sample times, ascending.
    pub at: Vec<Moment>,
    /// Sample values, as many as `at`.
    pub value: Vec<f64>,
}

/// Growth of a counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delta {
    /// Growth; a lower bound when `resets > 0`.
    pub value: f64,
    /// How often the counter restarted.
    pub resets: u32,
    /// Samples used.
    pub samples: u32,
    /// From the first to the last sample used.
    pub over: Seconds,
    /// First sample used.
    pub from: Moment,
    /// Last sample used.
    pub to: Moment,
}

impl Series {
    /// What a value is multiplied by to be in the unit of its signal. Signals are in seconds and bytes; a name that ends in
    /// another unit, as exporters by convention name theirs, says so: `_ms` and `_milliseconds`, `_us`, `_kb`, `_mb` and `_gb`
    /// (engines mean powers of 1024). A count has no unit.
    ///
    /// # Example: a transfer in milliseconds
    /// ```
    /// use firstcheck_model::signal::{Labels, Part, Series, SeriesKind};
    /// let series = |name: &str, part| Series {
    ///     name: name.into(),
    ///     labels: Labels::default(),
    ///     page: "main".into(),
    ///     kind: SeriesKind::Counter,
    ///     part,
    ///     signal: None,
    ///     at: Vec::new(),
    ///     value: Vec::new(),
    /// };
    /// assert_eq!(series("sglang:kv_transfer_latency_ms_sum", Part::Sum).unit_factor(), 1e-3);
    /// assert_eq!(series("sglang:kv_transfer_latency_ms_count", Part::Count).unit_factor(), 1.0);
    /// assert_eq!(series("vllm:nixl_xfer_time_seconds_sum", Part::Sum).unit_factor(), 1.0);
    /// ```
    pub fn unit_factor(&self) -> f64 {
        const UNITS: [(&str, f64); 6] = [
            ("_ms", 1e-3),
            ("_milliseconds", 1e-3),
            ("_us", 1e-6),
            ("_kb", 1024.0),
            ("_mb", 1024.0 * 1024.0),
            ("_gb", 1024.0 * 1024.0 * 1024.0),
        ];
        if self.part == Part::Count {
            return 1.0;
        }
        let family = ["_sum", "_bucket", "_total"].iter().find_map(|suffix| self.name.strip_suffix(suffix));
        let family = family.unwrap_or(&self.name);
        UNITS.iter().find(|(unit, _)| family.ends_with(unit)).map_or(1.0, |(_, factor)| *factor)
    }

    /// Growth between the samples nearest to the window's start and end (one on either side where a single one is
    /// nearest to both).
    ///
    /// Nearest, not around: a page that is read between warm-up and window arrives a moment after the window's start, and
    /// the sample before it would bring the warm-up's requests in.
    ///
    /// After a reset the counter restarts from zero, so the new value counts in full; what was lost between the last
    /// sample and the reset is unknown. A sample that is no finite number is none: nothing has grown to it or from it.
    ///
    /// # Errors
    /// [`Missing`] with fewer than two samples.
    pub fn delta(&self, window: Option<Window>) -> Result<Delta, Missing> {
        let (first, last) = match window {
            None => (0, self.at.len()),
            Some(w) => self.around(w),
        };
        let (at, value) = (self.at.get(first..last).unwrap_or(&[]), self.value.get(first..last).unwrap_or(&[]));
        let mut samples = at.iter().zip(value).filter(|(_, value)| value.is_finite()).map(|(at, value)| (*at, *value));
        let Some((from, mut before)) = samples.next() else { return Err(self.too_few(0)) };
        let (mut growth, mut resets, mut used, mut to) = (0.0, 0, 1, from);
        for (at, value) in samples {
            if value >= before {
                growth += value - before;
            } else {
                growth += value;
                resets += 1;
            }
            (before, to) = (value, at);
            used += 1;
        }
        if used < 2 {
            return Err(self.too_few(used));
        }
        let over = to.since(from).unwrap_or(Seconds(0.0));
        Ok(Delta { value: growth, resets, samples: used as u32, over, from, to })
    }

    /// The samples between which growth over `window` is taken: first, and one past the last. Where one sample is nearest
    /// to both ends, the nearest on either side of the window.
    fn around(&self, window: Window) -> (usize, usize) {
        match (self.nearest(window.start), self.nearest(window.end)) {
            (Some(first), Some(last)) if first < last => (first, last + 1),
            _ => {
                let first = self.at.partition_point(|t| *t <= window.start).saturating_sub(1);
                let end = self.at.partition_point(|t| *t < window.end);
                (first, (end + 1).min(self.at.len()))
            }
        }
    }

    /// The sample nearest to `moment`, the earlier of two that are as near.
    fn nearest(&self, moment: Moment) -> Option<usize> {
        let distance = |at: &usize| self.at[*at].ns_since(moment).map_or(u64::MAX, i64::unsigned_abs);
        let after = self.at.partition_point(|t| *t < moment);
        (after.saturating_sub(1)..(after + 1).min(self.at.len())).min_by_key(distance)
    }

    /// Samples inside the window.
    pub fn inside(&self, window: Option<Window>) -> impl Iterator<Item = (Moment, f64)> + '_ {
        let samples = self.at.iter().copied().zip(self.value.iter().copied());
        samples.filter(move |(at, _)| window.is_none_or(|w| w.contains(*at)))
    }

    fn too_few(&self, have: u64) -> Missing {
        Missing {
            what: format!("two samples of {}{} around the window", self.name, self.labels.render()),
            why: Why::TooFew { have, need: 2 },
            obtain: "scrape /metrics before and after the window: firstcheck run does".into(),
        }
    }
}
