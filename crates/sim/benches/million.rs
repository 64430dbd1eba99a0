//! A million conversations on eight replicas, on one core: `cargo bench -p firstcheck-sim --bench million`. How long it
//! takes, how that grows with the number of requests, and how loaded the replicas are meanwhile.
//!
//! `-- --rate 80 10000 1000000` behind it: requests a second, and how many requests. With `FIRSTCHECK_ARTEFACTS` the
//! requests are those of the Azure conversation trace of 2023, again and again with other prompts and as fast as the rate
//! says; without it, drawn ones of the same mean lengths.

use firstcheck_model::moment::Moment;
use firstcheck_sim::{Deployment, EngineConfig, Scenario, SimulateOptions, Simulated, simulate_scenario};
use firstcheck_workload::{
    arrivals::ArrivalProcess,
    distribution::Distribution,
    spec::{Source, Spec},
    trace::{Due, Trace},
};
use std::{error::Error, fs, io::BufReader, path::PathBuf, time::Instant};

const REPLICAS: u32 = 8;
const FILE: &str = "workloads/azure/AzureLLMInferenceTrace_conv.csv";

/// Requests a second: about 70 % of what the eight replicas can answer before their queues grow.
const RATE: f64 = 120.0;
/// Answered a second of virtual time; simulated requests a second of processor time.
const HEADING: &str = "requests      tokens     steps  preempted  answered/s  mean batch  peak KV  TTFT p50  TTFT p99  \
                       CPU s  requests/s  peak MB";
const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];

fn main() -> Result<(), Box<dyn Error>> {
    let (rate, sizes) = arguments(std::env::args().skip(1))?;
    println!("{HEADING}");
    for requests in sizes {
        let trace = match std::env::var_os("FIRSTCHECK_ARTEFACTS") {
            Some(folder) => recorded(PathBuf::from(folder).join(FILE), requests, rate)?,
            None => drawn(requests, rate)?,
        };
        let engine = EngineConfig { max_model_len: 16_384, ..EngineConfig::default() };
        let scenario = Scenario::steady(Deployment::uniform(engine, REPLICAS));
        let options = SimulateOptions { events: false, ..SimulateOptions::new(1, "bench") };
        let began = Began::now();
        let simulated = simulate_scenario(&scenario, &trace, &options)?;
        report(&simulated, began.seconds());
    }
    Ok(())
}

/// The rate, and the numbers of requests.
fn arguments(words: impl Iterator<Item = String>) -> Result<(f64, Vec<usize>), Box<dyn Error>> {
    let (mut rate, mut sizes) = (RATE, Vec::new());
    let mut words = words.filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rate" => rate = words.next().ok_or("--rate needs requests a second")?.parse()?,
            number => sizes.push(number.parse()?),
        }
    }
    Ok((rate, if sizes.is_empty() { SIZES.to_vec() } else { sizes }))
}

/// The recorded trace, over and over until there are enough requests; no two prompts share anything.
fn recorded(file: PathBuf, requests: usize, rate: f64) -> Result<Trace, Box<dyn Error>> {
    let text = fs::read(file)?;
    let pass = |seed: u64, time_scale: f64| {
        let arrivals = Some(ArrivalProcess::Trace { time_scale });
        let spec = Spec { source: Source::Azure, file: Some(FILE.into()), arrivals, ..Spec::default() };
        spec.generate(seed, Some(&mut BufReader::new(text.as_slice())))
    };
    let end_ns = |trace: &Trace| trace.items.iter().map(|item| due_ns(item.due)).max().unwrap_or(0);
    let own = pass(0, 1.0)?.trace;
    let time_scale = own.len() as f64 / (end_ns(&own) as f64 * 1e-9) / rate;
    let mut trace = pass(1, time_scale)?.trace;
    let length_ns = end_ns(&trace) + (1e9 / rate) as i64;
    for turn in 1.. {
        if trace.len() >= requests {
            break;
        }
        let again = pass(turn + 1, time_scale)?.trace;
        trace.items.extend(again.items.into_iter().map(|mut item| {
            item.due = Due::At(Moment::at(due_ns(item.due) + turn as i64 * length_ns));
            item
        }));
    }
    trace.items.truncate(requests);
    Ok(trace)
}

fn due_ns(due: Due) -> i64 {
    match due {
        Due::At(at) => at.get().unwrap_or(0),
        _ => 0,
    }
}

/// Prompts of about 1,150 tokens on average, answers of about 210.
fn drawn(requests: usize, rate: f64) -> Result<Trace, Box<dyn Error>> {
    let spec = Spec {
        arrivals: Some(ArrivalProcess::Poisson { rate }),
        requests: Some(u32::try_from(requests)?),
        input: Some(Distribution::lognormal(930.0, 0.66, 4, 8000)),
        output: Some(Distribution::lognormal(130.0, 0.98, 4, 1500)),
        ..Spec::default()
    };
    Ok(spec.generate(1, None)?.trace)
}

fn report(simulated: &Simulated, seconds: f64) {
    let truth = &simulated.truth;
    let requests = truth.requests.len();
    let lives = || truth.requests.iter().flatten().map(|request| &request.life);
    let stays: i64 = lives().filter_map(|life| Some(life.last_token_ns? - life.scheduled_ns?)).sum();
    let mut ttft: Vec<i64> = lives().filter_map(|life| Some(life.first_token_ns? - life.arrival_ns)).collect();
    ttft.sort_unstable();
    let at = |share: f64| ttft.get((ttft.len() as f64 * share) as usize).map_or(f64::NAN, |ns| *ns as f64 * 1e-9);
    println!(
        "{requests:>8} {:>11} {:>9} {:>10} {:>11.1} {:>11.1} {:>7.0}% {:>9.3} {:>9.3} {seconds:>6.2} {:>11.0} {:>8}",
        truth.generation_tokens,
        truth.steps,
        truth.preemptions,
        requests as f64 / (truth.end_ns as f64 * 1e-9),
        stays as f64 / truth.end_ns as f64 / f64::from(REPLICAS),
        100.0 * truth.peak_kv_usage,
        at(0.5),
        at(0.99),
        requests as f64 / seconds,
        peak_megabytes().map_or("?".into(), |megabytes| megabytes.to_string()),
    );
}

/// When the measurement began: on the processor's time where the system tells it, since others use the machine too.
struct Began {
    wall: Instant,
    cpu: Option<f64>,
}

impl Began {
    fn now() -> Self {
        Self { wall: Instant::now(), cpu: cpu_seconds() }
    }

    fn seconds(&self) -> f64 {
        let cpu = self.cpu.zip(cpu_seconds()).map(|(before, now)| now - before);
        cpu.unwrap_or(self.wall.elapsed().as_secs_f64())
    }
}

/// Processor time of this process, which has one thread.
fn cpu_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? * 1e-9)
}

/// Most memory that it has held.
fn peak_megabytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? / 1024)
}
