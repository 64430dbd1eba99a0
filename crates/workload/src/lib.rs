//! What is offered to a deployment: arrivals, lengths, prefixes, sessions, prompt text and trace formats; pure, seeded.
//!
//! A [`spec::Spec`] describes a workload and generates a [`trace::Trace`], which every run of an experiment replays.
//! The same description and seed give the same trace; [`hash::trace_hash`] tells whether two traces are the same.
//! Arrivals, prompt lengths, output lengths, prefixes and sessions have streams of random numbers of their own, so that
//! changing one leaves the others as they were.
//!
//! # Example: a Poisson workload
//! ```
//! use firstcheck_workload::{hash::trace_hash, spec::Spec};
//! let spec = Spec {
//!     arrivals: Some("poisson:8".parse()?),
//!     requests: Some(100),
//!     input: Some("lognormal:512,0.8,max=4096".parse()?),
//!     output: Some("uniform:50-200".parse()?),
//!     ..Spec::default()
//! };
//! let trace = spec.generate(1, None)?.trace;
//! assert_eq!(trace.len(), 100);
//! assert_eq!(trace_hash(&trace), trace_hash(&spec.generate(1, None)?.trace));
//! assert_ne!(trace_hash(&trace), trace_hash(&spec.generate(2, None)?.trace));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod arrivals;
pub mod body;
pub mod demo;
pub mod distribution;
pub mod error;
mod formats;
pub mod hash;
mod json;
mod notation;
pub mod prefix;
pub mod prompt;
pub mod recorded;
mod rng;
mod schedule;
mod sessions;
pub mod spec;
pub mod text;
pub mod trace;

pub use formats::Skipped;
