//! Simulated tokens a second of one core: `cargo bench -p firstcheck-sim --bench throughput`. Requests a second of eight
//! replicas under conversations, by their number: with `-- fleet 10000 100000 1000000` behind it.

use firstcheck_model::{moment::Moment, run::Arrivals};
use firstcheck_sim::{Deployment, EngineConfig, Scenario, SimulateOptions, simulate_scenario, simulate_with_truth};
use firstcheck_workload::{
    arrivals::ArrivalProcess,
    distribution::Distribution,
    prompt::{Piece, Prompt},
    spec::Spec,
    trace::{Due, Offered, Trace},
};
use std::time::Instant;

fn trace(requests: u32, rate: f64, prompt: u32, output: u32) -> Trace {
    let item = |row: u32| Offered {
        due: Due::At(Moment::from_seconds(f64::from(row) / rate)),
        prompt: Prompt::user(vec![Piece::Synthetic { seed: u64::from(row), tokens: prompt }]),
        output_tokens: Some(output),
        session: None,
    };
    let arrivals = Arrivals::Open { rate, cv: Some(0.0) };
    Trace { description: "throughput".into(), arrivals, items: (0..requests).map(item).collect(), salt: None }
}

/// Conversations as on a public service: prompts of about 1,150 tokens on average, answers of about 210.
fn conversations(requests: u32) -> Result<Trace, firstcheck_workload::error::Error> {
    let spec = Spec {
        arrivals: Some(ArrivalProcess::Poisson { rate: 40.0 }),
        requests: Some(requests),
        input: Some(Distribution::lognormal(930.0, 0.66, 4, 8000)),
        output: Some(Distribution::lognormal(130.0, 0.98, 4, 1500)),
        ..Spec::default()
    };
    Ok(spec.generate(1, None)?.trace)
}

fn fleet(sizes: &[u32]) {
    println!("requests      tokens      steps   seconds   requests/s   M tokens/s");
    for requests in sizes {
        let trace = match conversations(*requests) {
            Ok(trace) => trace,
            Err(error) => return println!("{error}"),
        };
        let deployment = Deployment::uniform(EngineConfig { max_model_len: 16_384, ..EngineConfig::default() }, 8);
        let options = SimulateOptions { events: false, ..SimulateOptions::new(1, "bench") };
        let started = Instant::now();
        match simulate_scenario(&Scenario::steady(deployment), &trace, &options) {
            Ok(simulated) => {
                let (truth, seconds) = (simulated.truth, started.elapsed().as_secs_f64());
                let (tokens, steps) = (truth.generation_tokens, truth.steps);
                let (each, rate) = (f64::from(*requests) / seconds, tokens as f64 / seconds / 1e6);
                println!("{requests:>8} {tokens:>11} {steps:>10} {seconds:>9.3} {each:>12.0} {rate:>12.1}");
            }
            Err(error) => println!("{error}"),
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if let Some(place) = words.iter().position(|word| word == "fleet") {
        return fleet(&words[place + 1..].iter().filter_map(|word| word.parse().ok()).collect::<Vec<_>>());
    }
    println!("case                              tokens      steps  preempted   seconds   M tokens/s");
    for (name, trace, blocks) in [
        ("1,000 x (500 -> 200), ample", trace(1000, 20.0, 500, 200), 27_000),
        ("1,000 x (500 -> 200), crowded", trace(1000, 40.0, 500, 200), 2_000),
        ("4,000 x (2,000 -> 50), prompts", trace(4000, 5.0, 2000, 50), 27_000),
        ("2,000 x (50 -> 1,000), decodes", trace(2000, 20.0, 50, 1000), 27_000),
    ] {
        let config = EngineConfig { num_gpu_blocks: blocks, max_model_len: 8192, ..EngineConfig::default() };
        let started = Instant::now();
        match simulate_with_truth(&config, &trace, &SimulateOptions::new(1, "bench")) {
            Ok(simulated) => {
                let (truth, seconds) = (simulated.truth, started.elapsed().as_secs_f64());
                let rate = truth.generation_tokens as f64 / seconds / 1e6;
                let (tokens, steps, preempted) = (truth.generation_tokens, truth.steps, truth.preemptions);
                println!("{name:31} {tokens:>9} {steps:>10} {preempted:>10} {seconds:>9.3} {rate:>12.1}");
            }
            Err(error) => println!("{name}: {error}"),
        }
    }
}
