//! `firstcheck demo --fast`: the whole way once, in virtual time.

use crate::{harness::Bench, schema};
use firstcheck_model::report::{Report, Verdict};

#[test]
fn it_finds_what_it_hid_and_can_be_repeated() {
    let bench = Bench::new();
    let args = ["demo", "--fast", "--seed", "3", "--pairs", "4", "--format", "json"];
    let first = bench.expect(0, &[&args[..], &["--out", "out-1q"]].concat()).out;
    let second = bench.expect(0, &[&args[..], &["--out", "out-2q"]].concat()).out;
    assert_eq!(first.replace("out-1q", "out-2q"), second, "a seed gives one report");
    let value = serde_json::from_str(&first).unwrap();
    assert_eq!(schema::violations(&value), Vec::<String>::new());
    let report: Report = serde_json::from_value(value).unwrap();
    assert_eq!(report.verdict, Verdict::Fail, "{:?}", report.why);
    assert_eq!(report.seed, Some(3));
    assert!(!report.stages.is_empty() && !report.findings.is_empty());
}

#[test]
fn its_bundles_can_be_compared_and_described() {
    let bench = Bench::new();
    let said = bench.expect(0, &["demo", "--fast", "--pairs", "2", "--out", "demo"]);
    // A job's log has no terminal: it is told of each pair in a plain line.
    let lines: Vec<&str> = said.err.lines().collect();
    assert!(lines[0].contains("2 pairs in virtual time") && lines.len() == 3, "{}", said.err);
    assert!(lines[1].starts_with("1 of 2 done, so far TTFT p95 "), "{}", said.err);
    assert!(!said.err.contains('\u{1b}') && !said.err.contains('\r'), "{:?}", said.err);
    assert_eq!(bench.expect(0, &["demo", "--fast", "--pairs", "2", "--quiet", "--out", "quiet"]).err, "");
    let side = |role: &str| -> Vec<String> { (1..=2).map(|n| format!("demo/pairs/pair-{n:02}-{role}")).collect() };
    let (base, candidate) = (side("base"), side("candidate"));
    let mut args = vec!["compare", "--base"];
    args.extend(base.iter().map(String::as_str));
    args.push("--candidate");
    args.extend(candidate.iter().map(String::as_str));
    let said = bench.call(&args);
    assert!([1, 3].contains(&said.code), "{said:?}");
    let page = std::fs::read_to_string(bench.path("demo/report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("S15") && page.len() < 2_000_000, "{}", page.len());
    assert!(bench.expect(0, &["report", &base[0]]).out.contains("TTFT p95"), "a bundle is described");
}
