//! The largest batch for which an engine captured a graph.

use crate::{
    fingerprint,
    side::{Measure, Side},
};
use firstcheck_model::{
    measurement::{Measurement, Missing, Source},
    unit::Count,
};

/// The largest captured batch; larger ones run without a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct LargestGraph {
    /// Requests of that batch; 0 where graphs are off.
    pub batch: Measurement<Count>,
}

/// Settings that state it, as a number or as a list of sizes; vLLM's by either name, SGLang's by either.
const SIZES: [&str; 4] =
    ["max_cudagraph_capture_size", "cudagraph_capture_sizes", "cuda_graph_max_bs", "cuda_graph_bs"];

/// Settings that switch graphs off.
const OFF: [&str; 2] = ["enforce_eager", "disable_cuda_graph"];

impl Measure for LargestGraph {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let fingerprint = fingerprint::of(side.evidence);
        let fields = fingerprint.iter().filter_map(|(name, _)| Some((name, fingerprint.get(name)?, field(name))));
        let logged = side.evidence.logs.iter().flat_map(|log| {
            let settings = log.resolved.iter().chain(&log.given);
            settings.map(move |setting| {
                (setting.name.as_str(), setting.value.as_str(), Source::line(&log.label, setting.line))
            })
        });
        let stated: Vec<(&str, &str, Source)> = logged.chain(fields).collect();
        let named = |name: &str, wanted: &str| name.rsplit(['.', '-']).next() == Some(wanted);
        let of = |value: f64, source: &Source| Self {
            batch: Measurement { value: Count(value), interval: None, n: 1, source: source.clone() },
        };
        let on = |value: &str| matches!(value, "True" | "true");
        if let Some((.., source)) =
            stated.iter().find(|(name, value, _)| OFF.iter().any(|off| named(name, off)) && on(value))
        {
            return Ok(of(0.0, source));
        }
        let sizes = SIZES.iter().find_map(|wanted| {
            let (_, value, source) = stated.iter().find(|(name, ..)| named(name, wanted))?;
            Some(of(largest(value)?, source))
        });
        sizes.ok_or_else(|| {
            Missing::not_exposed(
                "sizes of the captured graphs",
                "give the server's log from its start on: it states cudagraph_capture_sizes",
            )
        })
    }
}

fn field(name: &str) -> Source {
    Source::Derived { by: format!("fingerprint.{name}"), from: Vec::new() }
}

/// The largest number of a value or list.
fn largest(value: &str) -> Option<f64> {
    let numbers = value.split(|c: char| !c.is_ascii_digit() && c != '.').filter_map(|word| word.parse::<f64>().ok());
    numbers.filter(|number| number.is_finite()).max_by(f64::total_cmp)
}
