//! Measurements: one file each, taken once a side whoever asks.

pub mod batch_timeline;
pub mod client_ttft;
pub(crate) mod counters;
pub mod event_pacing;
pub mod event_tokens;
pub mod final_pages;
pub mod gap_histogram;
pub mod gap_timer;
pub mod kv_pool;
pub mod latency_means;
pub mod output_length;
pub mod page_demand;
pub mod preemptions;
pub mod prefill_rate;
pub mod prefix_hits;
pub mod prompt_overlap;
pub mod prompt_work;
pub mod rank_places;
pub mod served;
pub mod server_ledger;
pub mod stalls;
pub mod standstill;
pub mod step_wait;
pub mod trusted_counters;
pub mod ttft_ledger;
