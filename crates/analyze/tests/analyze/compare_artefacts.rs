//! Real result files, found through `FIRSTCHECK_ARTEFACTS`.

use firstcheck_analyze::compare::{Policy, compare};
use firstcheck_model::{
    evidence::RunEvidence,
    exit_code::exit_code,
    metric::Metric,
    report::{Claim, Report, Verdict},
};
use std::path::PathBuf;

fn artefact(name: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os("FIRSTCHECK_ARTEFACTS") else {
        eprintln!("SKIPPED: set FIRSTCHECK_ARTEFACTS to compare {name}");
        return None;
    };
    Some(PathBuf::from(root).join("engine").join(name))
}

fn compared(base: &str, candidate: &str) -> Option<Report> {
    let read = |name: &str| -> Option<Vec<RunEvidence>> {
        Some(firstcheck_ingest::read_runs(&artefact(name)?).unwrap_or_else(|e| panic!("{name}: {e}")))
    };
    Some(compare(&read(base)?, &read(candidate)?, &Policy::default()))
}

#[test]
fn repeats_of_one_deployment_are_shown_and_nothing_is_claimed() {
    let Some(report) = compared("a_baseline_e1", "a_baseline_e2") else { return };
    assert_eq!((report.verdict, exit_code(&report, None)), (Verdict::Inconclusive, 3), "{:?}", report.why);
    for row in &report.metrics {
        assert!(
            matches!(row.claim, Claim::Shown | Claim::NotClaimable),
            "{} {}: {:?}",
            row.metric,
            row.stat,
            row.claim
        );
    }
    for (metric, stat) in [(Metric::Ttft, "p50"), (Metric::Tpot, "p50"), (Metric::Itl, "mean"), (Metric::E2e, "mean")] {
        assert_eq!(report.metric(metric, stat).unwrap().claim, Claim::Shown);
    }
}

#[test]
fn a_small_pool_with_preemptions_fails_by_the_rule_for_single_runs() {
    let Some(report) = compared("c_kv_ample", "c_kv_small_preempt") else { return };
    let ratio = |metric, stat| report.metric(metric, stat).unwrap().ratio.unwrap().finite().unwrap();
    let ttft = report.metric(Metric::Ttft, "p50").unwrap();
    assert!((15.0..25.0).contains(&ratio(Metric::Ttft, "p50")), "{ttft:?}");
    assert_eq!((ttft.claim, ttft.exploratory), (Claim::Regressed, true));
    assert!(ratio(Metric::LongestGap, "mean") > 1.0);
    assert!(ratio(Metric::Itl, "mean") < 1.0);
    assert_eq!(report.metric(Metric::Itl, "mean").unwrap().claim, Claim::Shown);
    assert_eq!((report.verdict, exit_code(&report, None)), (Verdict::Fail, 1), "{:?}", report.why);
}
