//! How often the rules alarm without a cause. Minutes: `cargo test -p firstcheck-analyze --test analyze -- --ignored`.

use crate::synthetic::{Spec, pairs};
use firstcheck_analyze::compare::{Policy, compare};
use firstcheck_model::report::Verdict;

/// Share of `runs` comparisons of a deployment with itself that fail, each on a trace of its own.
fn alarms(runs: u64, pair_count: u32, spec: &Spec) -> f64 {
    let mut failed = 0;
    for seed in 0..runs {
        let (base, candidate) = pairs(pair_count, &Spec { trace: seed, ..spec.clone() }, 50_000 + seed, |s| s);
        failed += u32::from(compare(&base, &candidate, &Policy::default()).verdict == Verdict::Fail);
    }
    f64::from(failed) / runs as f64
}

#[test]
#[ignore = "minutes"]
fn single_runs_of_one_deployment_hardly_ever_fail() {
    for load in [0.3, 0.5, 0.7, 0.9] {
        let spec = Spec { requests: 1000, tokens: 3, load, run_sd: 0.02, ..Spec::default() };
        let rate = alarms(200, 1, &spec);
        println!("single runs at load {load}: {:.1} % alarms", rate * 100.0);
        assert!(rate <= 0.02, "load {load}: {rate}");
    }
}

#[test]
#[ignore = "minutes"]
fn pairs_of_one_deployment_hardly_ever_fail_at_any_load() {
    for load in [0.3, 0.7, 0.9] {
        let spec = Spec { requests: 300, tokens: 3, load, run_sd: 0.02, ..Spec::default() };
        let rate = alarms(200, 8, &spec);
        println!("8 pairs at load {load}: {:.1} % alarms", rate * 100.0);
        assert!(rate <= 0.05, "load {load}: {rate}");
    }
}
