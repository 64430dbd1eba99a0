//! The nouns of firstcheck: runs, requests, events, signals, evidence, findings, the report; and exact arithmetic of
//! hardware and model geometry.
//!
//! Everything here is plain data with its definitions. Nothing here does I/O, knows a clock or a file format.

pub mod capture;
pub mod comparability;
pub mod distribution;
pub mod engine_log;
pub mod event;
pub mod evidence;
pub mod exit_code;
pub mod figure;
pub mod finding;
pub mod fingerprint;
pub mod first_look;
pub mod gpu;
pub mod hang;
pub mod hardware;
pub mod isolation;
pub mod measurement;
pub mod metric;
pub mod moment;
pub mod prompts;
pub mod recording;
pub mod report;
pub mod request;
pub mod run;
pub mod signal;
pub mod slo;
pub mod span;
pub mod sweep;
pub mod trace_span;
pub mod unit;

/// The tool with its version, as reports and bundles name it.
pub const TOOL: &str = concat!("firstcheck ", env!("CARGO_PKG_VERSION"));
