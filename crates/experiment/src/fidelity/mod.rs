//! How faithful the simulated engine is: what a real engine served is replayed in virtual time, request by request, and
//! the latencies are held against those that were measured.
//!
//! A [`Recorded`] run comes from a bundle or from the per-request log of a serving benchmark ([`setup`]). Arrivals,
//! prompt lengths, shared prefixes and answer lengths are inputs; latencies and preemptions are what is predicted.

mod error;
mod fit;
mod latency;
mod ranks;
mod recorded;
mod replay;
pub mod setup;

pub use error::FidelityError;
pub use fit::{Fit, Parameter, fit};
pub use latency::{Latencies, Latency, Metric, median_error};
pub use recorded::{Recorded, Served};
pub use replay::{Replayed, replay, replay_ranks};
