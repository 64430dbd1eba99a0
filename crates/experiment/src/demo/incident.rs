//! The incident that the demonstration rehearses: what is served, what is offered, and the one thing that differs.

use firstcheck_model::{moment::Moment, run::Arrivals, slo::Slo, unit::Seconds};
use firstcheck_sim::EngineConfig;
use firstcheck_workload::{
    arrivals::ArrivalProcess,
    distribution::Distribution,
    error::Error,
    spec::Spec,
    trace::{Due, Trace},
};

/// KV blocks of the base.
const BASE_BLOCKS: u32 = 2_600;
/// KV blocks of the candidate: its upgraded runtime takes more memory for itself and leaves fewer.
const CANDIDATE_BLOCKS: u32 = 1_200;
/// Offered requests a second, on average.
const RATE: f64 = 12.0;
/// Traffic comes in waves, one each so many seconds …
const WAVE_PERIOD_S: f64 = 12.0;
/// … and arrives within this share of the period.
const WAVE_SHARE: f64 = 0.05;

/// The deployment in production.
pub fn base() -> EngineConfig {
    EngineConfig {
        num_gpu_blocks: BASE_BLOCKS,
        max_model_len: 8192,
        max_num_seqs: 48,
        version: "0.31.0".into(),
        ..EngineConfig::default()
    }
}

/// The release candidate: an upgraded runtime that leaves fewer KV blocks. Nothing else differs.
pub fn candidate() -> EngineConfig {
    EngineConfig { num_gpu_blocks: CANDIDATE_BLOCKS, version: "0.32.0".into(), ..base() }
}

/// What both are offered over `seconds`: mixed lengths with some long prompts, in waves as from scheduled jobs.
///
/// # Errors
/// None for these parameters; the workload's own otherwise.
pub fn trace(seconds: f64, seed: u64) -> Result<Trace, Error> {
    let short = Distribution::lognormal(250.0, 0.7, 16, 2_000);
    let long = Distribution::uniform(3_000, 6_000);
    let spec = Spec {
        arrivals: Some(ArrivalProcess::Constant { rate: RATE }),
        requests: Some((seconds * RATE).ceil() as u32),
        input: Some(short.mixed_with(0.03, &long)),
        output: Some(Distribution::lognormal(160.0, 0.5, 8, 800)),
        ..Spec::default()
    };
    let mut trace = spec.generate(seed, None)?.trace;
    for item in &mut trace.items {
        if let Due::At(at) = item.due {
            item.due = Due::At(into_wave(at));
        }
    }
    trace.arrivals = Arrivals::Open { rate: RATE, cv: None };
    trace.description = format!(
        "{RATE} requests a second in waves each {WAVE_PERIOD_S} s; prompts about 250 tokens, 3 % of them 3,000 to 6,000; \
         answers about 160 tokens"
    );
    Ok(trace)
}

/// Moves an arrival into the beginning of its wave; order and number of requests stay.
fn into_wave(at: Moment) -> Moment {
    let Some(seconds) = at.seconds() else { return at };
    let wave = (seconds / WAVE_PERIOD_S).floor() * WAVE_PERIOD_S;
    Moment::from_seconds(wave + (seconds - wave) * WAVE_SHARE)
}

/// The objective of the demonstration.
pub fn slo() -> Slo {
    Slo { ttft: Some(Seconds(3.0)), tpot: Some(Seconds(0.05)), e2e: None, gap: None }
}
