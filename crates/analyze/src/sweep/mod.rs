//! At which rate an objective breaks: runs of one mix at several rates, read as a curve.
//!
//! The share of the offered requests that meet all bounds of the objective falls with the rate. It breaks where the share
//! crosses the wanted one, by a quasi-binomial fit over the logarithm of the rate near there; each run has a trace of its
//! own, so that the interval speaks of the mix and not of one trace. The knee is where the p95 TTFT has left its level at
//! low rates, the steady rate the highest at which no queue grows.

mod curve;
mod level;

pub use curve::{CurvePolicy, breaking, curve};
pub use level::level;
