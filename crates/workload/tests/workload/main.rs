//! Workloads through their public interface.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking; helpers outside #[test] do too")]

mod access;
mod arrivals;
mod bodies;
mod distributions;
mod formats;
mod prompts;
mod real_traces;
mod recorded;
mod specs;

use firstcheck_workload::{
    error::Error,
    spec::{Generated, Spec},
};

/// Generates from text that stands for a file.
fn from_text(spec: &Spec, text: &str) -> Result<Generated, Error> {
    spec.generate(7, Some(&mut text.as_bytes()))
}

/// A synthetic workload of `requests` requests.
fn synthetic(requests: u32) -> Spec {
    Spec {
        arrivals: Some("poisson:8".parse().unwrap()),
        requests: Some(requests),
        input: Some("lognormal:512,0.8,max=4096".parse().unwrap()),
        output: Some("uniform:50-200".parse().unwrap()),
        ..Spec::default()
    }
}
