//! Data-parallel ranks in lockstep: every rank's step ends when the slowest has ended, because their experts exchange
//! tokens in each layer.

use super::{FidelityError, Latencies, Latency, Recorded, Replayed};
use firstcheck_sim::{Engine, EngineConfig, NewRequest};

/// What a waiting request weighs against a running one when a request is given to the rank with the least to do: vLLM's
/// balancer counts it four times.
const WAITING_WEIGHT: usize = 4;

#[derive(Debug, Clone, Copy, Default)]
struct Course {
    first_ns: Option<i64>,
    last_ns: Option<i64>,
}

pub(super) fn run(
    recorded: &Recorded,
    config: &EngineConfig,
    count: u32,
    seed: u64,
) -> Result<Replayed, FidelityError> {
    let start = |rank: u32| Engine::new(config.clone(), seed + u64::from(rank));
    let mut ranks = (0..count).map(start).collect::<Result<Vec<Engine>, _>>()?;
    let mut courses = vec![Course::default(); recorded.requests.len()];
    let mut next_row = 0;
    let mut now_ns = 0;
    loop {
        let ends: Vec<Option<i64>> = ranks.iter_mut().map(|rank| rank.begin_step(now_ns)).collect();
        let end_ns = ends.iter().copied().flatten().max();
        let arrival = recorded.requests.get(next_row).map(|request| request.arrival_ns);
        let ready = ranks.iter().filter_map(Engine::next_ready_ns).min();
        let Some(until_ns) = end_ns.or_else(|| arrival.into_iter().chain(ready).min()) else { break };
        now_ns = until_ns.max(now_ns);
        while let Some(request) = recorded.requests.get(next_row).filter(|request| request.arrival_ns <= now_ns) {
            submit(&mut ranks, recorded, next_row, request.arrival_ns)?;
            next_row += 1;
        }
        for (rank, _) in ranks.iter_mut().zip(&ends).filter(|(_, end)| end.is_some()) {
            for output in rank.finish_step(now_ns).outputs {
                let course = &mut courses[output.tag as usize];
                course.first_ns.get_or_insert(now_ns);
                course.last_ns = Some(now_ns);
            }
        }
    }
    let latencies = recorded.requests.iter().zip(&courses).map(|(request, course)| {
        let (first, last) = (course.first_ns?, course.last_ns?);
        let gaps = request.output_tokens.checked_sub(1).filter(|gaps| *gaps > 0);
        Some(Latency {
            ttft: (first - request.arrival_ns) as f64 * 1e-9,
            tpot: gaps.map(|gaps| (last - first) as f64 * 1e-9 / f64::from(gaps)),
            e2e: (last - request.arrival_ns) as f64 * 1e-9,
        })
    });
    Ok(Replayed {
        latencies: Latencies(latencies.collect()),
        preemptions: ranks.iter().map(|rank| rank.stats().preemptions).sum(),
        steps: ranks.iter().map(|rank| rank.stats().steps).sum(),
    })
}

fn submit(ranks: &mut [Engine], recorded: &Recorded, row: usize, arrival_ns: i64) -> Result<(), FidelityError> {
    let load = |rank: &Engine| rank.running().len() + WAITING_WEIGHT * (rank.waiting().len() + rank.incoming());
    let Some(rank) = ranks.iter_mut().min_by_key(|rank| load(rank)) else { return Ok(()) };
    let request = &recorded.requests[row];
    let mut prompt = Vec::new();
    request.prompt.iter().for_each(|piece| piece.write_token_ids(&mut prompt));
    let new = NewRequest::forced(row as u64, prompt, request.output_tokens);
    rank.submit(arrival_ns, new).map_err(|refusal| FidelityError::Refused { row, reason: refusal.to_string() })?;
    Ok(())
}
