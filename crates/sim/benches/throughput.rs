//! Simulated tokens a second of one core: `cargo bench -p firstcheck-sim --bench throughput`.

use firstcheck_model::{moment::Moment, run::Arrivals};
use firstcheck_sim::{EngineConfig, SimulateOptions, simulate_with_truth};
use firstcheck_workload::{
    prompt::{Piece, Prompt},
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

fn main() {
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
