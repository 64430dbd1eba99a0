//! Real result files, where `FIRSTCHECK_ARTEFACTS` names their folder.

use crate::{
    harness::{Bench, arg},
    schema,
};
use firstcheck_model::{
    metric::Metric,
    report::{Claim, Quantity, Report, Verdict},
};
use std::{io::Write, path::PathBuf};

/// The folder of artefacts; says loudly that the test is skipped where there is none.
fn artefacts() -> Option<PathBuf> {
    let folder = std::env::var_os("FIRSTCHECK_ARTEFACTS").map(PathBuf::from);
    if folder.is_none() {
        // Past the capture of the test harness, which would swallow it.
        let line = b"SKIPPED: FIRSTCHECK_ARTEFACTS is not set, real result files are not read\n";
        std::io::stderr().write_all(line).unwrap();
    }
    folder
}

fn compare(bench: &Bench, code: i32, base: &str, candidate: &str) -> Option<Report> {
    let engine = artefacts()?.join("engine");
    let (base, candidate) = (engine.join(base), engine.join(candidate));
    let args = ["compare", "--base", arg(&base), "--candidate", arg(&candidate), "--format", "json"];
    let said = bench.expect(code, &args);
    let value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(schema::violations(&value), Vec::<String>::new());
    Some(serde_json::from_value(value).unwrap())
}

fn ratio(report: &Report, metric: Metric, stat: &str) -> f64 {
    let row = report.metric(metric, stat).unwrap_or_else(|| panic!("no {metric} {stat}"));
    row.ratio.and_then(Quantity::finite).unwrap_or_else(|| panic!("no ratio of {metric} {stat}"))
}

#[test]
fn repeats_of_one_baseline_on_a_shared_host_are_shown_and_not_judged() {
    let Some(report) = compare(&Bench::new(), 3, "a_baseline_e1", "a_baseline_e2") else { return };
    assert_eq!(report.verdict, Verdict::Inconclusive);
    let ttft = report.metric(Metric::Ttft, "p50").unwrap();
    assert_eq!(ttft.claim, Claim::Shown);
    assert!(ttft.exploratory);
}

#[test]
fn a_small_kv_pool_is_a_regression_by_the_rule_for_single_runs() {
    let Some(report) = compare(&Bench::new(), 1, "c_kv_ample", "c_kv_small_preempt") else { return };
    let ttft = report.metric(Metric::Ttft, "p50").unwrap();
    assert_eq!(ttft.claim, Claim::Regressed);
    assert!(ttft.exploratory);
    assert!((10.0..40.0).contains(&ratio(&report, Metric::Ttft, "p50")), "{:?}", ttft.ratio);
    assert!(ratio(&report, Metric::LongestGap, "mean") > 1.0);
    assert!(ratio(&report, Metric::Itl, "mean") < 1.0);
}

#[test]
fn every_foreign_result_is_imported_and_described_as_itself() {
    let Some(artefacts) = artefacts() else { return };
    let bench = Bench::new();
    let peers = artefacts.join("bench/peers");
    let files = [
        "vllm-bench-serve-py/c16.json",
        "vllm-bench-rs/c16.json",
        "sglang-bench-rust/c16.jsonl",
        "aiperf",
        "guidellm/benchmarks.json",
        "inference-perf/ip-c16",
    ];
    for (n, file) in files.iter().enumerate() {
        let path = peers.join(file);
        let out = format!("runs-{n}");
        let said = bench.expect(0, &["import", arg(&path), "--out", &out, "--format", "json"]);
        let imported: Report = serde_json::from_str(&said.out).unwrap();
        assert_eq!(schema::violations(&serde_json::to_value(&imported).unwrap()), Vec::<String>::new());
        let folders: Vec<_> = std::fs::read_dir(bench.path(&out)).unwrap().map(|e| e.unwrap().path()).collect();
        assert!(!folders.is_empty(), "{file}");
        let [bundle] = folders.as_slice() else { continue };
        let json = |path: &str| -> Report {
            serde_json::from_str(&bench.call(&["report", path, "--format", "json"]).out).unwrap()
        };
        // Notes name the path; everything else must be the same.
        let rows = |report: Report| -> Vec<_> {
            report.metrics.into_iter().map(|row| firstcheck_model::report::MetricRow { note: None, ..row }).collect()
        };
        assert_eq!(rows(json(arg(bundle))), rows(json(arg(&path))), "{file}: the bundle says what the file says");
    }
}
