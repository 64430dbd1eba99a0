//! What the engine counts of its parts.

use super::Engine;
use crate::{
    config::{EngineConfig, EngineKind},
    emit::{
        features::{Offload, Speculation},
        sglang,
        stats::{Gauges, Stats},
    },
};

/// Counters at zero, for the parts that the engine has.
pub(super) fn fresh(config: &EngineConfig) -> Stats {
    let mut stats = Stats::new(config.max_model_len);
    stats.speculation = config.speculation.as_ref().map(|drafting| Speculation::new(drafting.tokens));
    stats.offload = config.offload.is_some().then(Offload::default);
    if config.engine == EngineKind::Sglang {
        sglang::adopt(&mut stats);
    }
    stats
}

impl Engine {
    /// Shows the state at a step's end.
    pub(super) fn publish(&mut self, now_ns: i64) {
        let kv_usage = self.core.kv_usage();
        let (running, waiting) = (self.core.running().len(), self.core.waiting().len());
        let blocked = |slot: &u32| self.slots[*slot].blocked_until_ns > now_ns;
        let deferred = if self.may_block() { self.core.waiting().filter(blocked).count() } else { 0 };
        self.stats.gauges = Gauges { running, waiting, deferred, kv_usage };
        self.stats.peak_kv_usage = self.stats.peak_kv_usage.max(kv_usage);
        self.stats.leak(&self.config.memory.host.leak, now_ns);
        if let (Some(shown), Some(copied)) = (&mut self.stats.offload, self.core.copied()) {
            shown.loaded(copied.load_operations - shown.load_size.count(), copied.load_bytes - shown.load_bytes);
            shown.looked_up(
                copied.lookups - shown.lookup.count(),
                copied.lookup_ns - (shown.lookup.sum() * 1e9).round() as i64,
            );
            shown.load_bytes = copied.load_bytes;
            shown.load_ns = copied.load_ns;
            shown.store_bytes = copied.store_bytes;
            shown.store_ns = copied.store_ns;
        }
        if let Some(images) = self.core.images() {
            self.stats.multimodal.queries = images.queries;
            self.stats.multimodal.hits = images.hits;
        }
    }

    /// Whether any request may have to wait for something of its own: the queue is then looked through.
    pub(super) fn may_block(&self) -> bool {
        self.config.offload.is_some() || !self.grammars.is_empty()
    }

    /// Counts tokens that a request found outside the GPU's own cache.
    pub(super) fn count_external(&mut self, queries: u64, hits: u64) {
        let Some(offload) = &self.config.offload else {
            if hits > 0 {
                // From another engine.
                self.stats.external.queries += queries;
                self.stats.external.hits += hits;
                self.stats.cached_by_source.p2p += hits;
            }
            return;
        };
        self.stats.external.queries += queries;
        self.stats.external.hits += hits;
        let sources = &mut self.stats.cached_by_source;
        let source = match offload.tier.as_str() {
            "host" => &mut sources.host,
            "p2p" => &mut sources.p2p,
            "disk" => &mut sources.disk,
            _ => &mut sources.unspecified,
        };
        *source += hits;
    }
}
