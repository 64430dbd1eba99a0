//! Tests of the simulated engine through its public interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

mod artefacts;
mod client;
mod config;
mod deployment;
mod determinism;
mod disaggregated;
mod fault;
mod invariants;
mod language;
mod logs;
mod memory;
mod metrics;
mod play;
mod preemption;
mod prefix;
mod rollout;
mod router;
mod scheduling;
#[cfg(feature = "serve")]
mod serve;
mod sglang;
mod silicon;
mod simulate;
mod timing;
