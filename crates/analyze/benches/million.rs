//! A comparison of a million requests a side over eight pairs, with all metrics and twelve slices, on one core:
//! `cargo bench -p firstcheck-analyze --bench million`. How long it takes, how that grows, and how much memory it holds
//! beyond the runs themselves. Processor time is the figure where the host has other work.
//!
//! `-- 10000 1000000` behind it: requests a side.

use firstcheck_analyze::compare::{Comparison, Gate, Policy, Slices};
use firstcheck_model::{
    distribution::Distribution,
    event::Streams,
    evidence::RunEvidence,
    metric::Metric,
    moment::{Moment, Window},
    report::{Report, Verdict},
    request::{Fate, Finish, Request, Requests},
    run::{Arrivals, CacheState, Clock, ClockKind, Origin, PairPlace, Role, RunId, RunInfo, WorkloadInfo},
    unit::Seconds,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

const PAIRS: u32 = 8;
const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    println!("requests a side  rows  slices     s  CPU s  CPU us/request  peak MB  of which runs  verdict");
    for requests in if sizes.is_empty() { SIZES.to_vec() } else { sizes } {
        let made = held();
        let pairs: Vec<(RunEvidence, RunEvidence)> =
            (0..PAIRS).map(|pair| (run(Role::Base, pair, requests), run(Role::Candidate, pair, requests))).collect();
        let runs = held() - made;
        let before = processor();
        let (took, report) = judge(&pairs);
        let cpu = processor() - before;
        let slices: BTreeSet<&String> = report.metrics.iter().filter_map(|row| row.slice.as_ref()).collect();
        println!(
            "{requests:>15}  {:>4}  {:>6}  {:>4.2}  {cpu:>5.2}  {:>14.2}  {:>7.0}  {runs:>13.0}  {}",
            report.metrics.len(),
            slices.len(),
            took.as_secs_f64(),
            cpu * 1e6 / (2 * requests) as f64,
            peak(),
            if report.verdict == Verdict::Pass { "pass" } else { "no pass" },
        );
    }
}

fn judge(pairs: &[(RunEvidence, RunEvidence)]) -> (Duration, Report) {
    let began = Instant::now();
    let mut comparison = Comparison::new(policy());
    for (base, candidate) in pairs {
        comparison.add_pair(base, candidate);
    }
    let report = comparison.finish();
    (began.elapsed(), report)
}

/// Every default gate and the whole request, in twelve slices: four of prompts, five of outputs, three of the cache.
fn policy() -> Policy {
    let mut policy = Policy { slo: "ttft=1s,itl=50ms".parse().ok(), ..Policy::default() };
    policy.gates.push(Gate { metric: Metric::E2e, quantile: Some(0.95), margin: 0.1, required: false });
    policy.slices = Slices { prompt: vec![256, 1_024, 4_096], output: vec![64, 128, 256, 512], ..Slices::default() };
    policy
}

/// One run of `requests / PAIRS` requests: the trace is the same in all, times differ by a run's own noise.
fn run(role: Role, pair: u32, requests: usize) -> RunEvidence {
    let n = requests / PAIRS as usize;
    let mut trace = ChaCha8Rng::seed_from_u64(1);
    let mut noise = ChaCha8Rng::seed_from_u64(u64::from(pair) * 2 + u64::from(role == Role::Candidate) + 10);
    let effect = 1.0 + 0.01 * (noise.random::<f64>() - 0.5);
    let (mut rows, mut gaps, mut itl) = (Vec::with_capacity(n), Vec::with_capacity(n), Distribution::default());
    let mut now = 0.0;
    for _ in 0..n {
        now += -(1.0 - trace.random::<f64>()).ln() * 0.01;
        let (prompt, output) = (length(&mut trace, 600.0), length(&mut trace, 150.0));
        let cached = if trace.random::<f64>() < 0.4 { prompt / 2 } else { 0 };
        let ttft = 0.05 * effect * (1.0 + noise.random::<f64>()) + 1e-5 * f64::from(prompt - cached);
        let token = 0.02 * effect * (1.0 + 0.2 * noise.random::<f64>());
        let mut request = Request::offered(Moment::from_seconds(now));
        (request.sent, request.fate, request.finish) = (request.intended, Fate::Completed, Some(Finish::Length));
        request.first_token = Moment::from_seconds(now + ttft);
        request.first_byte = request.first_token;
        request.last_token = Moment::from_seconds(now + ttft + token * f64::from(output));
        request.done = request.last_token;
        (request.prompt_tokens, request.cached_tokens) = (Some(prompt), Some(cached));
        (request.output_tokens, request.requested_tokens) = (Some(output + 1), Some(output + 1));
        itl.add_ns((token * 1e9) as i64, u64::from(output));
        gaps.push(Some(Seconds(token * 2.0)));
        rows.push(request);
    }
    let streams = Streams { events: vec![1; n], longest_gap: gaps, event_gaps: itl.clone(), itl, ..Streams::default() };
    let mut info = info(role, pair);
    info.window = Some(Window { start: Moment::at(0), end: Moment::from_seconds(now + 1.0) });
    let label = info.id.0.clone();
    RunEvidence {
        label,
        info,
        requests: Requests(rows),
        streams: Some(streams),
        signals: Vec::new(),
        spans: Vec::new(),
    }
}

/// A length with the long tail that lengths have.
fn length(rng: &mut ChaCha8Rng, typical: f64) -> u32 {
    let normal = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    (typical * normal.exp()).clamp(1.0, 100_000.0) as u32
}

fn info(role: Role, pair: u32) -> RunInfo {
    let workload = WorkloadInfo {
        description: "lognormal lengths".into(),
        arrivals: Arrivals::Open { rate: 100.0, cv: Some(1.0) },
        trace_hash: Some("one".into()),
        salt: None,
        streaming: Some(true),
        warm_up: None,
        cache: CacheState::Cold,
    };
    let clock = Clock { started_unix_ns: None, kind: ClockKind::Virtual };
    let id = RunId(format!("{}-{pair}", role.name()));
    let mut info = RunInfo::new(id, "bench", Origin::Simulated, clock, workload);
    let order = u8::from(pair.is_multiple_of(2) == (role == Role::Candidate));
    info.place =
        Some(PairPlace { experiment: "bench".into(), pair, role, order, device: None, cell: None, looks: Vec::new() });
    info.load = Some(0.5);
    info
}

/// Seconds that this thread has had a processor.
fn processor() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).map_or(f64::NAN, |ns| ns * 1e-9)
}

/// Megabytes that the process holds now, and at most held.
fn held() -> f64 {
    status("VmRSS:")
}

fn peak() -> f64 {
    status("VmHWM:")
}

fn status(field: &str) -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok()).map_or(f64::NAN, |kb| kb / 1024.0)
}
