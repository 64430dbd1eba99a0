//! Where the time of a simulated fault went, by what the servers export, held against the simulator's own account.
//!
//! The comparison sees requests, scraped pages and exported spans alone. The account behind them is what really happened,
//! request by request.

use firstcheck_analyze::compare::{Policy, compare};
use firstcheck_ingest::{
    otlp::{join_spans, read_otlp_json},
    vocabulary,
};
use firstcheck_model::{
    evidence::RunEvidence,
    moment::Moment,
    report::Report,
    run::{PairPlace, Role},
    span::{Stage, StageSpan},
    unit::Seconds,
};
use firstcheck_sim::{
    Deployment, EngineConfig, Scenario, SimulateOptions, Simulated,
    fault::{Fault, Severity, healthy, scenario},
    simulate::{Artefacts, StageAccount},
    simulate_scenario,
};
use firstcheck_workload::{arrivals::ArrivalProcess, distribution::Distribution, spec::Spec, trace::Trace};
use std::{collections::BTreeMap, path::Path};

/// A fault that acts in one stage.
struct Case {
    fault: &'static str,
    /// The latency that it makes worse: `ttft` or `e2e`.
    of: &'static str,
    /// The rows of a split by spans that have to tell it, together.
    rows: &'static [Stage],
    /// Those of a split by histograms; none where these cannot.
    means: &'static [Stage],
    /// The same in the account.
    truth: &'static [Stage],
}

/// One stage each, in the order of a request's life. What an engine's spans do not tell apart is one row.
const CASES: &[Case] = {
    use Stage::*;
    const FRONT: &[Stage] = &[Tokenize, EngineInput, Detokenize];
    const fn case(fault: &'static str, of: &'static str, rows: &'static [Stage], truth: &'static [Stage]) -> Case {
        Case { fault, of, rows, means: rows, truth }
    }
    &[
        // What the client held back itself voids its TTFT.
        case("client-gate:most=4", "e2e", &[Client], &[Client]),
        Case { means: &[Outside], ..case("router-slow:ms=60", "ttft", &[Network], &[Network]) },
        case("tokeniser-serial:ms=80", "ttft", &[FrontEnd], FRONT),
        case("tokeniser-slow:us_per_token=80", "ttft", &[FrontEnd], FRONT),
        case("limits-lower:sequences=6,tokens=8192", "ttft", &[Queue], &[Queue]),
        case("limits-lower:sequences=48,tokens=128", "ttft", &[Prefill], &[Prefill]),
        // Histograms of two pools count each request twice.
        Case { means: &[], ..case("handover-orchestrated:ms=150", "ttft", &[HandOver], &[KvTransfer]) },
        Case { means: &[], ..case("handover-slow-link:gb_per_s=0.8", "ttft", &[HandOver], &[KvTransfer]) },
        case("graph-mode-downgraded:us_per_layer=450", "e2e", &[DecodePreempted], &[Decode]),
        // Histograms count the requests of others, whose answers are longer, as well.
        Case {
            means: &[],
            ..case(
                "preemption-bursts:period_s=4,pool_share=0.95,output_tokens=300",
                "e2e",
                &[DecodePreempted],
                &[Decode, Preempted],
            )
        },
        // One process does both: what waits for it waits in either.
        Case { means: &[FrontEnd], ..case("detokeniser-saturated:us=3000", "e2e", &[FrontEnd, Detokenize], FRONT) },
        Case { means: &[Outside], ..case("proxy-gathers:ms=200", "ttft", &[Flush], &[Flush]) },
    ]
};

/// Pairs of a comparison.
const PAIRS: u32 = 6;
/// Requests of a run.
const REQUESTS: u32 = 240;
/// Points by which a share may be off.
const POINTS: f64 = 0.10;

fn engine() -> EngineConfig {
    EngineConfig { num_gpu_blocks: 2_600, max_model_len: 8192, max_num_seqs: 48, ..EngineConfig::default() }
}

fn trace(seed: u64) -> Trace {
    let spec = Spec {
        arrivals: Some(ArrivalProcess::Poisson { rate: 8.0 }),
        requests: Some(REQUESTS),
        input: Some(Distribution::lognormal(400.0, 0.6, 16, 3_000)),
        output: Some(Distribution::lognormal(80.0, 0.5, 8, 300)),
        ..Spec::default()
    };
    spec.generate(seed, None).unwrap().trace
}

/// A request's account to its first and to its last token.
type Accounts = Vec<Option<(StageAccount, StageAccount)>>;

/// One run as its client and its servers tell it, and as it was.
fn play(deployment: &Scenario, trace: &Trace, place: PairPlace, seed: u64) -> (RunEvidence, Accounts) {
    let role = if place.role == Role::Base { "base" } else { "candidate" };
    let mut options = SimulateOptions::new(seed, format!("{role}-{}", place.pair));
    options.scrape_interval = Seconds(1.0);
    options.artefacts = Artefacts { spans: true, ..Artefacts::default() };
    let Simulated { mut recording, attachments, truth } = simulate_scenario(deployment, trace, &options).unwrap();
    vocabulary::apply(&mut recording.signals);
    let exported = attachments.iter().find(|file| file.name == "traces.jsonl").unwrap();
    let lines = exported.content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let spans: Vec<_> = lines.flat_map(|line| read_otlp_json(Path::new("traces.jsonl"), None, line).unwrap()).collect();
    let told = join_spans(&spans, &recording.requests, recording.info.clock).stages;
    let mut own = std::mem::replace(&mut recording.spans, told);
    own.sort_by_key(|span| (span.request, span.start));
    let near = |(one, other): (&StageSpan, &StageSpan)| {
        let apart = |a: Moment, b: Moment| a.ns_since(b).is_none_or(|ns| ns.abs() > 2);
        (one.request, one.stage) == (other.request, other.stage)
            && !apart(one.start, other.start)
            && !apart(one.end, other.end)
    };
    let told = &recording.spans;
    assert!(own.len() == told.len() && own.iter().zip(told).all(near), "the recording tells what the servers export");
    recording.info.place = Some(place);
    recording.info.load = Some(0.5);
    let account =
        |request: &firstcheck_sim::simulate::RequestTruth| Some((request.to_first_token()?, request.to_last_token()?));
    let accounts = truth.requests.iter().map(|request| account(request.as_ref()?)).collect();
    (recording.into_evidence(format!("{role} {seed}")), accounts)
}

/// An experiment: what the comparison says, and the accounts of its pairs.
struct Experiment {
    report: Report,
    pairs: Vec<(Accounts, Accounts)>,
}

fn experiment(fault: &str, seed: u64) -> Experiment {
    let trace = trace(seed);
    let faults = [Fault::parse(fault, Severity::Moderate).unwrap()];
    let deployment = Deployment::single(engine());
    let sides = [healthy(&deployment, &trace, &faults).unwrap(), scenario(&deployment, &trace, &faults).unwrap()];
    let (mut base, mut candidate, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let place = |role, order| PairPlace {
            experiment: "x".into(),
            pair,
            role,
            order,
            cell: None,
            device: None,
            looks: Vec::new(),
        };
        let order = (pair % 2) as u8;
        let noise = seed * 1_000 + u64::from(pair) * 2;
        let (b, b_truth) = play(&sides[0], &trace, place(Role::Base, order), noise);
        let (c, c_truth) = play(&sides[1], &trace, place(Role::Candidate, 1 - order), noise + 1);
        base.push(b);
        candidate.push(c);
        pairs.push((b_truth, c_truth));
    }
    Experiment { report: compare(&base, &candidate, &Policy::default()), pairs }
}

/// Means over pairs of the change of the total and of a stage, seconds, by the account; and how many standard errors the
/// first is.
struct Change {
    total: f64,
    stage: f64,
    errors: f64,
}

impl Change {
    fn share(&self) -> f64 {
        self.stage / self.total
    }
}

fn change(experiment: &Experiment, case: &Case, statistic: fn(&[StageAccount], &[Stage]) -> (f64, f64)) -> Change {
    let pick = |(first, last): &(StageAccount, StageAccount)| if case.of == "ttft" { *first } else { *last };
    let mut totals = Vec::new();
    let mut stages = Vec::new();
    for (base, candidate) in &experiment.pairs {
        // Requests that both sides answered.
        let both = base.iter().zip(candidate).filter_map(|(b, c)| Some((pick(b.as_ref()?), pick(c.as_ref()?))));
        let (b, c): (Vec<StageAccount>, Vec<StageAccount>) = both.unzip();
        let (b, c) = (statistic(&b, case.truth), statistic(&c, case.truth));
        totals.push(c.0 - b.0);
        stages.push(c.1 - b.1);
    }
    let n = totals.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
    let total = mean(&totals);
    let spread = totals.iter().map(|value| (value - total).powi(2)).sum::<f64>() / (n - 1.0);
    Change { total, stage: mean(&stages), errors: total.abs() / (spread / n).sqrt() }
}

fn seconds(accounts: &[StageAccount], stages: &[Stage]) -> Vec<(f64, f64)> {
    let of = |account: &StageAccount| stages.iter().map(|stage| account.of_ns(*stage)).sum::<i64>() as f64 * 1e-9;
    accounts.iter().map(|account| (account.total_ns() as f64 * 1e-9, of(account))).collect()
}

/// Mean total and mean of the stages.
fn at_mean(accounts: &[StageAccount], stages: &[Stage]) -> (f64, f64) {
    let all = seconds(accounts, stages);
    let sum = all.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (sum.0 / all.len() as f64, sum.1 / all.len() as f64)
}

/// The p95 of the total, and the stages of the requests around it, weighted by how near their rank is.
fn at_p95(accounts: &[StageAccount], stages: &[Stage]) -> (f64, f64) {
    let mut all = seconds(accounts, stages);
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (n, half) = (all.len() as f64, f64::max(0.005, 1.0 / all.len() as f64));
    let (mut weights, mut sum) = (0.0, 0.0);
    for (rank, (_, stage)) in all.iter().enumerate() {
        let weight = 1.0 - ((rank as f64 + 0.5) / n - 0.95).abs() / half;
        weights += weight.max(0.0);
        sum += weight.max(0.0) * stage;
    }
    (all[(0.95 * n).ceil() as usize - 1].0, sum / weights)
}

/// The share of some rows of a split; `None`: the report does not divide it.
fn told(report: &Report, of: &str, basis: &str, stages: &[Stage]) -> Option<f64> {
    let split = || report.stages.iter().filter(|row| row.of == of && row.basis == basis);
    split().next()?.share?;
    let labels: Vec<&str> = stages.iter().map(|stage| stage.label()).collect();
    Some(split().filter(|row| labels.contains(&row.stage.as_str())).filter_map(|row| row.share).sum())
}

/// How a case fared over its seeds.
#[derive(Default)]
struct Tally {
    counted: u32,
    near: u32,
    worst: f64,
    truth: f64,
}

impl Tally {
    fn add(&mut self, change: &Change, share: Option<f64>) {
        if change.errors <= 3.0 || change.errors.is_nan() {
            return;
        }
        let off = share.map_or(f64::INFINITY, |share| (share - change.share()).abs());
        self.counted += 1;
        self.near += u32::from(off <= POINTS);
        self.worst = self.worst.max(off);
        self.truth += change.share();
    }

    fn join(&mut self, other: &Self) {
        self.counted += other.counted;
        self.near += other.near;
        self.worst = self.worst.max(other.worst);
        self.truth += other.truth;
    }
}

/// Tallies by case and split.
type Tallies = BTreeMap<(usize, &'static str), Tally>;

fn tallies(seeds: impl Iterator<Item = u64> + Clone) -> Tallies {
    let mut all = Tallies::new();
    for (place, case) in CASES.iter().enumerate() {
        for seed in seeds.clone() {
            let experiment = experiment(case.fault, seed);
            let report = &experiment.report;
            let (mean, p95) = (change(&experiment, case, at_mean), change(&experiment, case, at_p95));
            let told = |stat: &str, basis, rows| told(report, &format!("{} {stat}", case.of), basis, rows);
            all.entry((place, "mean by spans")).or_default().add(&mean, told("mean", "spans", case.rows));
            all.entry((place, "p95 by spans")).or_default().add(&p95, told("p95", "spans", case.rows));
            if !case.means.is_empty() {
                // Where the queue grows, the engine ends fewer requests in the window than were offered in it: no split.
                if let Some(share) = told("mean", "histogram means", case.means) {
                    all.entry((place, "mean by histograms")).or_default().add(&mean, Some(share));
                }
            }
            adds_up(report, case.fault, seed);
        }
    }
    all
}

/// The rows of a split add up to what is split, on both sides.
fn adds_up(report: &Report, fault: &str, seed: u64) {
    for split in report.stages.chunk_by(|one, other| one.of == other.of && one.basis == other.basis) {
        let (base, candidate, delta) = split.iter().fold((0.0, 0.0, 0.0), |sum, row| {
            (sum.0 + row.base.unwrap(), sum.1 + row.candidate.unwrap(), sum.2 + row.delta)
        });
        assert!((candidate - base - delta).abs() < 1e-9, "{fault} {seed}: {split:?}");
        let shares: Option<f64> = split.iter().map(|row| row.share).sum();
        assert!(shares.is_none_or(|sum| (sum - 1.0).abs() < 1e-6), "{fault} {seed}: {split:?}");
        if split[0].basis == "spans" && split[0].of.ends_with("mean") {
            let unexplained = split.iter().find(|row| row.stage == "unexplained").map_or(0.0, |row| row.delta);
            assert!(unexplained.abs() < 1e-3, "{fault} {seed}: spans of the whole request leave nothing: {split:?}");
        }
    }
}

/// Two threads share the seeds.
fn both_halves(seeds: std::ops::RangeInclusive<u64>) -> Tallies {
    let odd = seeds.clone();
    let odd = std::thread::spawn(move || tallies(odd.filter(|seed| seed % 2 == 1)));
    let mut all = tallies(seeds.filter(|seed| seed % 2 == 0));
    for (key, tally) in odd.join().unwrap() {
        all.entry(key).or_default().join(&tally);
    }
    all
}

fn table(all: &Tallies) -> String {
    let mut lines = String::from("fault | split | changes | within 10 points | worst | true share\n");
    for ((place, split), tally) in all {
        let case = &CASES[*place];
        let counted = f64::from(tally.counted.max(1));
        let (near, truth) = (f64::from(tally.near) / counted, tally.truth / counted);
        let line = format!(
            "{} | {} {split} | {} | {:.1} % | {:.1} points | {:.1} %\n",
            case.fault,
            case.of,
            tally.counted,
            near * 100.0,
            tally.worst * 100.0,
            truth * 100.0
        );
        lines.push_str(&line);
    }
    lines
}

/// The stage that a fault acts in carries what the account says, in a mean and at a quantile.
fn assert_near(all: &Tallies, seeds: u32) {
    let table = table(all);
    println!("{table}");
    for ((place, split), tally) in all {
        let fault = CASES[*place].fault;
        assert!(*split != "mean by spans" || 4 * tally.counted > 3 * seeds, "{fault} is hardly felt:\n{table}");
        assert!(f64::from(tally.near) >= 0.95 * f64::from(tally.counted), "{fault} {split}:\n{table}");
    }
}

#[test]
fn shares_are_near_the_simulators_own_account() {
    assert_near(&both_halves(1..=2), 2);
}

#[test]
#[ignore = "a hundred seeds take minutes: cargo test --release -p firstcheck-experiment -- --ignored hundred"]
fn shares_of_a_hundred_seeds_are_near_the_simulators_own_account() {
    assert_near(&both_halves(1..=100), 100);
}
