//! Whether the prompts that servers served are as long as those that clients sent.

use super::{counters::runs_of, prefill_queue::buckets};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source, Why},
    signal::Signal,
    unit::Ratio,
};

/// Prompts of which a distribution is told.
const FEWEST: f64 = 50.0;

/// Share of the prompts served that are not as long as those sent, by the buckets of the servers' histogram: half of the
/// sum of the differences of the buckets' shares (total variation distance), 0 to 1.
///
/// # Errors
/// The servers have no such histogram, or either side has too few prompts whose length is known.
pub fn apart(served: &[RunEvidence], sent: &[RunEvidence]) -> Result<Measurement<Ratio>, Missing> {
    let buckets = buckets(served, Signal::PromptLength)?;
    let lengths: Vec<f64> = sent
        .iter()
        .flat_map(RunEvidence::window)
        .filter_map(|(_, request)| request.prompt_tokens.map(f64::from))
        .collect();
    let inside = |lower: f64, upper: f64| lengths.iter().filter(|tokens| **tokens > lower && **tokens <= upper).count();
    let of_clients: Vec<f64> = buckets.iter().map(|(lower, upper, _)| inside(*lower, *upper) as f64).collect();
    let (here, there): (f64, f64) = (buckets.iter().map(|(.., count)| count).sum(), of_clients.iter().sum());
    if here < FEWEST || there < FEWEST {
        return Err(Missing {
            what: "lengths of the prompts that clients sent and servers served".into(),
            why: Why::TooFew { have: here.min(there) as u64, need: FEWEST as u64 },
            obtain: "measure for longer: firstcheck run --url URL --duration 300s".into(),
        });
    }
    let differences = buckets.iter().zip(&of_clients).map(|((.., count), own)| (count / here - own / there).abs());
    let source = Source::Derived { by: "lengths of prompts served against those sent".into(), from: runs_of(served) };
    Ok(Measurement { value: Ratio(differences.sum::<f64>() / 2.0), interval: None, n: here as u64, source })
}
