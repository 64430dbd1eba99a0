//! A run that a real engine served, as far as a replay needs it.

use super::{FidelityError, Latencies, Latency};
use firstcheck_bundle::Bundle;
use firstcheck_model::{
    moment::Moment,
    request::{Fate, Request},
    run::Arrivals,
    signal::Series,
};
use firstcheck_workload::{
    prompt::{Piece, Prompt},
    trace::{Due, Offered, Trace},
};
use std::path::Path;

/// One request as it was served.
#[derive(Debug, Clone, PartialEq)]
pub struct Served {
    /// When it arrived, nanoseconds on the run's clock.
    pub arrival_ns: i64,
    /// Its prompt, in tokens: what requests share is equal in both.
    pub prompt: Vec<Piece>,
    /// Tokens that were generated.
    pub output_tokens: u32,
    /// What it took; `None` outside the window or where it was not answered.
    pub latency: Option<Latency>,
}

/// A run of a real engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its name.
    pub name: String,
    /// Its requests in the order of arrival.
    pub requests: Vec<Served>,
    /// Growth of the engine's counter of preemptions over the run, where it was scraped.
    pub preemptions: Option<f64>,
    /// Requests that were offered but not answered in full: they are replayed, but not compared.
    pub unanswered: usize,
}

impl Recorded {
    /// Reads a bundle. Prompts keep their lengths as the server counted them, and share nothing with each other.
    ///
    /// # Errors
    /// A bundle that cannot be read.
    pub fn from_bundle(path: &Path) -> Result<Self, FidelityError> {
        let bundle = Bundle::open(path)?;
        let window = bundle.info().window;
        let requests = bundle.requests()?;
        let offered = requests.0.iter().enumerate();
        let mut served: Vec<Served> = offered
            .filter_map(|(row, request)| {
                let inside = window.is_none_or(|window| window.contains(request.origin()));
                Some(Served {
                    arrival_ns: request.sent.get()?,
                    prompt: vec![Piece::Synthetic { seed: row as u64, tokens: request.prompt_tokens? }],
                    output_tokens: request.output_tokens.or(request.requested_tokens)?,
                    latency: latency(request).filter(|_| inside),
                })
            })
            .collect();
        served.sort_by_key(|request| request.arrival_ns);
        let unanswered = requests.0.iter().filter(|request| request.fate != Fate::Completed).count();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let preemptions = growth(&bundle.signals()?, "vllm:num_preemptions_total");
        Ok(Self { name, requests: served, preemptions, unanswered })
    }

    /// The measured latencies.
    pub fn latencies(&self) -> Latencies {
        Latencies(self.requests.iter().map(|request| request.latency).collect())
    }

    /// What was offered, to be replayed.
    pub fn trace(&self) -> Trace {
        let item = |request: &Served| Offered {
            due: Due::At(Moment::at(request.arrival_ns)),
            prompt: Prompt::user(request.prompt.clone()),
            output_tokens: Some(request.output_tokens),
            session: None,
        };
        Trace {
            description: format!("as recorded: {}", self.name),
            arrivals: Arrivals::Unknown,
            items: self.requests.iter().map(item).collect(),
            salt: None,
        }
    }
}

/// From the actual send: the client's lateness is not the engine's.
fn latency(request: &Request) -> Option<Latency> {
    let ttft = request.ttft_from_sent().filter(|ttft| ttft.0.is_finite())?;
    let e2e = request.last_token.since(request.sent)?;
    Some(Latency { ttft: ttft.0, tpot: request.tpot().map(|tpot| tpot.0), e2e: e2e.0 })
}

/// Growth of a counter over the whole run, summed over its series; `None` if it was not scraped.
fn growth(series: &[Series], name: &str) -> Option<f64> {
    let counters: Vec<&Series> = series.iter().filter(|series| series.name == name).collect();
    let grown = |series: &&Series| Some(series.value.last()? - series.value.first()?);
    (!counters.is_empty()).then(|| counters.iter().filter_map(grown).sum())
}
