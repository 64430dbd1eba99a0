//! One deployment by itself.

use crate::synthetic::{Spec, summary};
use firstcheck_analyze::{compare::Policy, examine::examine, registry, settings::Settings};
use firstcheck_model::{
    evidence::Evidence,
    exit_code::exit_code,
    metric::{Metric, Stat},
    run::Reported,
};

#[test]
fn its_runs_are_listed_and_every_check_is_asked() {
    let evidence = Evidence::of(vec![Spec { noise: 1, ..Spec::default() }.run(), Spec::default().run()]);
    let report = examine(&evidence, &Policy::default(), &Settings::default());
    let side = report.sides.candidate.unwrap();
    assert_eq!(side.runs.iter().map(|run| run.requests > 0).collect::<Vec<_>>(), [true, true]);
    assert_eq!(report.findings.len(), registry::CHECKS.len());
    assert!(report.metrics.is_empty() && report.notes.is_empty(), "{:?}", report.notes);
}

#[test]
fn evidence_without_a_run_is_asked_as_well() {
    assert_eq!(
        examine(&Evidence::default(), &Policy::default(), &Settings::default()).findings.len(),
        registry::CHECKS.len()
    );
}

/// One fingerprint stands for all: what the runs do not agree in must not be lost in it.
#[test]
fn a_pile_of_two_deployments_is_said() {
    let run = |blocks: &str| {
        let mut run = Spec::default().run();
        run.info.fingerprint.set("kv_blocks", blocks, "/metrics");
        run
    };
    let report = examine(&Evidence::of(vec![run("2000"), run("1400")]), &Policy::default(), &Settings::default());
    assert_eq!(report.notes, ["the runs of what was read are not of one deployment: kv_blocks 2000 and 1400"]);
}

#[test]
fn a_result_whose_requests_all_failed_is_no_clean_bill() {
    let told = |run| {
        let report = examine(&Evidence::of(vec![run]), &Policy::default(), &Settings::default());
        (report.invalid.join("\n"), exit_code(&report, None))
    };
    let share = |value| Reported { metric: Metric::FailedShare, stat: Stat::Total, value, n: Some(8) };
    let (said, code) = told(summary("failed", vec![share(1.0)]));
    assert_eq!((said.as_str(), code), ("failed: none of 8 requests was answered in full", 3));
    assert_eq!(told(summary("some", vec![share(0.5)])).0, "");
    assert_eq!(told(summary("nothing", Vec::new())).0, "", "a run without figures may be of pages and logs");
}
