//! The rate that breaks an objective: a search against a known truth, and a sweep of the simulated engine that is cut.

use firstcheck_analyze::sweep::{CurvePolicy, curve};
use firstcheck_experiment::{
    ledger::Begun,
    plan::WarmUp,
    rig::Offer,
    sweep::{Next, Search, SweepOptions, Swept, plan, sweep},
    target::{SimulatedTarget, Target},
};
use firstcheck_load::Stop;
use firstcheck_model::{
    report::{Quantity, Verdict},
    run::CacheState,
    slo::Slo,
    sweep::LevelRow,
    unit::Seconds,
};
use firstcheck_sim::{Deployment, EngineConfig};
use firstcheck_workload::demo::mixed;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::{fs, path::Path, rc::Rc, time::Duration};

fn search() -> Search {
    Search {
        start: 1.0,
        lowest: 0.1,
        highest: 500.0,
        precision: 0.05,
        least_runs: 6,
        most_runs: 40,
        curve: CurvePolicy { gpus: Some(2.0), cost_per_gpu_hour: Some(3.0), ..CurvePolicy::default() },
    }
}

/// A deployment whose good share crosses 95 % at that rate, in runs that differ by more than their draws.
struct Truth {
    breaks: f64,
    random: ChaCha8Rng,
}

impl Truth {
    fn new(breaks: f64, seed: u64) -> Self {
        Self { breaks, random: ChaCha8Rng::seed_from_u64(seed) }
    }

    fn run(&mut self, rate: f64) -> LevelRow {
        let shift = (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0;
        let eta = 19_f64.ln() - 12.0 * (rate / self.breaks).ln() + 0.4 * shift;
        let (share, offered) = (1.0 / (1.0 + (-eta).exp()), 300);
        let good = (0..offered).filter(|_| self.random.random::<f64>() < share).count() as f64;
        LevelRow {
            rate,
            bundle: String::new(),
            offered,
            good_share: Some(good / offered as f64),
            goodput: None,
            ttft_p95: Quantity::of(0.1 * (1.0 + (rate / self.breaks).powi(6))),
            tpot_p50: None,
            gpu_hours_per_good: None,
            queue_grew: Some(rate > 1.2 * self.breaks),
            invalid: Vec::new(),
        }
    }
}

fn searched(search: &Search, truth: &mut Truth) -> Vec<LevelRow> {
    let mut levels = Vec::new();
    while let Next::Run(rate) = search.next(&levels).unwrap() {
        assert!((search.lowest..=search.highest).contains(&rate), "{rate}");
        levels.push(truth.run(rate));
        assert!(levels.len() as u32 <= search.most_runs);
    }
    levels
}

#[test]
fn the_breaking_rate_is_found_and_its_interval_covers_it() {
    let (mut told, mut covered, mut runs) = (0, 0, 0);
    for seed in 0..200 {
        let breaks = 2.0 + 0.37 * seed as f64;
        let levels = searched(&search(), &mut Truth::new(breaks, seed));
        runs += levels.len();
        let curve = curve(None, levels, &search().curve).unwrap();
        let Some(found) = curve.breaks else { continue };
        let Some([low, high]) = found.interval else { continue };
        told += 1;
        covered += usize::from((low..=high).contains(&breaks));
        assert!((found.rate / breaks).ln().abs() < 0.25, "seed {seed}: {} for {breaks}", found.rate);
        let hours = 2.0 / (found.rate * 0.95) / 3_600.0;
        assert_eq!((found.gpu_hours_per_good, found.cost_per_good), (Some(hours), Some(3.0 * hours)));
    }
    assert!(told >= 198 && covered >= 180, "{covered} of {told} intervals cover the truth, {runs} runs");
}

#[test]
fn what_never_breaks_and_what_is_always_broken_is_said() {
    let of = |breaks: f64, search: Search| {
        let levels = searched(&search, &mut Truth::new(breaks, 3));
        curve(None, levels, &search.curve).unwrap()
    };
    let never = of(1e6, Search { highest: 20.0, ..search() });
    assert!(never.breaks.is_none() && never.why[0].contains("does not break up to 20.00"), "{:?}", never.why);
    let always = of(1e-6, search());
    assert!(always.breaks.is_none() && always.why[0].contains("is broken at 0.10"), "{:?}", always.why);
}

#[test]
fn the_knee_and_the_steady_rate_lie_where_the_curve_has_them() {
    let levels = searched(&search(), &mut Truth::new(40.0, 5));
    let found = curve(None, levels, &search().curve).unwrap();
    // The p95 has doubled where (rate / 40)⁶ is 1.
    assert!((found.knee.unwrap() / 40.0 - 1.0).abs() < 0.1, "{found:?}");
    let steady = found.steady.unwrap();
    assert!((36.0..=48.0).contains(&steady), "{steady}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_search_ends_whatever_the_runs_say(
        shares in proptest::collection::vec(proptest::option::of(0.0..=1.0_f64), 40), invalid in any::<u64>(),
    ) {
        let search = search();
        let mut levels: Vec<LevelRow> = Vec::new();
        let mut truth = Truth::new(10.0, 1);
        while let Next::Run(rate) = search.next(&levels).unwrap() {
            prop_assert!(rate.is_finite() && (search.lowest..=search.highest).contains(&rate));
            let mut row = truth.run(rate);
            row.good_share = shares[levels.len()];
            if invalid >> levels.len() & 1 == 1 {
                row.invalid.push("the client was saturated".into());
            }
            levels.push(row);
            prop_assert!(levels.len() <= 40);
        }
        curve(None, levels, &search.curve).unwrap();
    }
}

fn sweep_in(out: &Path, cvs: &[f64]) -> Swept {
    let engine = EngineConfig { num_gpu_blocks: 2_600, max_model_len: 8192, ..EngineConfig::default() };
    let text = "--blocks 2600".to_owned();
    let target = SimulatedTarget { text, deployment: Deployment::single(engine), faults: Vec::new() };
    let search = Search { start: 2.0, most_runs: 8, precision: 0.2, least_runs: 4, ..search() };
    let slo = Slo { ttft: Some(Seconds(0.5)), ..Slo::default() };
    let trace = |warm_up: Seconds, rate: f64, seed: u64, _: Option<f64>| {
        Ok(mixed(((warm_up.0 + 10.0) * rate).ceil() as u32, rate, seed)?)
    };
    let options = SweepOptions {
        begun: Begun::by(plan(search.most_runs, 5, WarmUp::Fixed(Seconds(2.0)))),
        target: Target::Simulated(Box::new(target)),
        offer: Offer {
            trace: Rc::new(move |warm_up: Seconds| trace(warm_up, 1.0, 1, None)),
            window: Some(Duration::from_secs(10)),
            slo: Some(slo),
            load: None,
            cache: CacheState::Cold,
            drain: Duration::from_secs(60),
            scrape_interval: Duration::from_secs(5),
        },
        trace: Rc::new(trace),
        slo,
        search,
        length_cvs: cvs.to_vec(),
        policy: Default::default(),
        out: out.to_owned(),
        stop: Stop::default(),
    };
    sweep(options, &mut |_| {}).unwrap()
}

fn report(swept: &Swept, out: &Path) -> String {
    serde_json::to_string(&swept.report).unwrap().replace(&out.display().to_string(), "OUT")
}

#[test]
fn a_sweep_that_was_cut_goes_on_and_ends_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("sweep");
    let whole = sweep_in(&out, &[]);
    let expected = report(&whole, &out);
    let found = whole.report.sweep.as_ref().unwrap();
    assert!(found.curves[0].breaks.is_some(), "{:?}", whole.report.why);
    let ledger = fs::read(out.join("ledger.jsonl")).unwrap();
    let ends: Vec<usize> =
        ledger.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    for cut in [1, ends.len() / 2, ends.len() - 2] {
        fs::write(out.join("ledger.jsonl"), &ledger[..ends[cut] - 3]).unwrap();
        assert_eq!(report(&sweep_in(&out, &[]), &out), expected, "cut in line {cut}");
    }
    // A bundle that is lost from the middle is made again at its own rate, and no other is.
    fs::remove_dir_all(out.join("run-02")).unwrap();
    assert_eq!(report(&sweep_in(&out, &[]), &out), expected);
}

#[test]
fn each_spread_of_lengths_has_a_search_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("sweep");
    let swept = sweep_in(&out, &[0.0, 1.0]);
    let curves = swept.report.sweep.unwrap().curves;
    assert_eq!(curves.iter().map(|curve| curve.length_cv).collect::<Vec<_>>(), [Some(0.0), Some(1.0)]);
    assert!(out.join("length-cv-0/run-01").is_dir() && out.join("length-cv-1/run-01").is_dir());
    assert!(matches!(swept.report.verdict, Verdict::None | Verdict::Inconclusive));
}
