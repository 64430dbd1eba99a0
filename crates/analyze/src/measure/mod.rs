//! Measurements: one file each, taken once a side whoever asks.

pub(crate) mod counters;
pub mod final_pages;
pub mod kv_pool;
pub mod latency_means;
pub mod output_length;
pub mod page_demand;
pub mod preemptions;
pub mod served;
pub mod step_wait;
pub mod trusted_counters;
pub mod ttft_ledger;
