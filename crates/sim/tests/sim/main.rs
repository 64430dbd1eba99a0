//! Tests of the simulated engine through its public interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

mod admission;
mod artefacts;
mod asynchronous;
mod client;
mod config;
mod data_parallel;
mod defects;
mod deployment;
mod determinism;
mod disaggregated;
mod fault;
mod frontend;
mod images;
mod invariants;
mod language;
mod logs;
mod memory;
mod metrics;
mod offload;
mod play;
mod preemption;
mod prefix;
mod priority;
mod real;
mod rollout;
mod router;
mod scheduling;
#[cfg(feature = "serve")]
mod serve;
mod sglang;
mod silicon;
mod simulate;
mod speculation;
mod step_time;
mod structured;
mod timing;
