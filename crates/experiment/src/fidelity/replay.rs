//! Replaying a recorded run in virtual time.

use super::{FidelityError, Latencies, Latency, Recorded, Served, ranks};
use firstcheck_model::request::Request;
use firstcheck_sim::{EngineConfig, SimulateOptions, simulate_with_truth};

/// What the simulated engine made of a recorded run.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// Latencies of the requests for which the real engine has some, by row.
    pub latencies: Latencies,
    /// Preemptions.
    pub preemptions: u64,
    /// Steps.
    pub steps: u64,
}

/// Replays `recorded` on one engine.
///
/// # Errors
/// An engine that refuses its configuration or a request that the real one served.
pub fn replay(recorded: &Recorded, config: &EngineConfig, seed: u64) -> Result<Replayed, FidelityError> {
    let simulated = simulate_with_truth(config, &recorded.trace(), &SimulateOptions::new(seed, "replay"))?;
    let pairs = simulated.recording.requests.0.iter().zip(&recorded.requests).enumerate();
    let compared = |(row, (request, served)): (usize, (&Request, &Served))| {
        latency(row, request).map(|latency| latency.filter(|_| served.latency.is_some()))
    };
    let latencies = pairs.map(compared).collect::<Result<Vec<_>, _>>()?;
    let (preemptions, steps) = (simulated.truth.preemptions, simulated.truth.steps);
    Ok(Replayed { latencies: Latencies(latencies), preemptions, steps })
}

/// Replays `recorded` on `count` data-parallel ranks of one engine whose steps wait for each other, each request going to
/// the rank with the least to do, as vLLM's own balancer decides it.
///
/// # Errors
/// As [`replay`].
pub fn replay_ranks(
    recorded: &Recorded,
    config: &EngineConfig,
    count: u32,
    seed: u64,
) -> Result<Replayed, FidelityError> {
    if count < 2 {
        return replay(recorded, config, seed);
    }
    let mut replayed = ranks::run(recorded, config, count, seed)?;
    for (latency, served) in replayed.latencies.0.iter_mut().zip(&recorded.requests) {
        *latency = latency.filter(|_| served.latency.is_some());
    }
    Ok(replayed)
}

fn latency(row: usize, request: &Request) -> Result<Option<Latency>, FidelityError> {
    if let Some(reason) = &request.error {
        return Err(FidelityError::Refused { row, reason: reason.clone() });
    }
    let (ttft, e2e) = (request.first_token.since(request.sent), request.last_token.since(request.sent));
    let (Some(ttft), Some(e2e)) = (ttft, e2e) else { return Ok(None) };
    Ok(Some(Latency { ttft: ttft.0, tpot: request.tpot().map(|tpot| tpot.0), e2e: e2e.0 }))
}
