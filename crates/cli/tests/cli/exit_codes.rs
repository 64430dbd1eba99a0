//! One case for each class of exit code.

use crate::{
    fixtures,
    harness::{Bench, arg},
    results::Like,
};
use firstcheck_model::report::Report;

#[test]
fn usage_errors_are_2() {
    let bench = Bench::new();
    for args in [
        &["no-such-verb"][..],
        &["compare"],
        &["compare", "--base", "a.json"],
        &["compare", "--base", "a.json", "--candidate", "b.json", "--slo", "ttft=fast"],
        &["compare", "--base", "a.json", "--candidate", "b.json", "--format", "yaml"],
        &["explain", "S999"],
        &["import", "--out", "x"],
        &["sim"],
    ] {
        let said = bench.expect(2, args);
        assert!(said.out.is_empty() && !said.err.is_empty(), "{args:?}: {said:?}");
    }
}

#[test]
fn a_file_that_is_not_there_is_2_and_named() {
    let bench = Bench::new();
    let good = bench.write("good.json", &Like::GOOD.file());
    for args in [
        &["compare", "--base", arg(&good), "--candidate", "nowhere.json"][..],
        &["report", "nowhere.json"],
        &["import", "nowhere.json", "--out", "x"],
    ] {
        let said = bench.expect(2, args);
        assert!(said.err.starts_with("error: cannot read nowhere.json\ncause: "), "{args:?}: {}", said.err);
    }
}

#[test]
fn a_file_that_is_no_result_is_2_and_says_why() {
    let bench = Bench::new();
    let good = bench.write("good.json", &Like::GOOD.file());
    bench.write("poem.txt", "roses are red\n");
    let said = bench.expect(2, &["compare", "--base", arg(&good), "--candidate", "poem.txt"]);
    assert!(said.err.contains("no run in poem.txt"), "{}", said.err);
    let said = bench.expect(2, &["import", "poem.txt", "--out", "x"]);
    assert!(said.err.contains("poem.txt"), "{}", said.err);
}

#[test]
fn single_runs_that_look_alike_cannot_pass() {
    let bench = Bench::new();
    let base = bench.write("base.json", &Like::GOOD.file());
    let candidate = bench.write("candidate.json", &Like { ttft: 0.21, ..Like::GOOD }.file());
    bench.expect(3, &["compare", "--base", arg(&base), "--candidate", arg(&candidate)]);
}

#[test]
fn a_twentyfold_ttft_on_one_trace_fails() {
    let bench = Bench::new();
    let base = bench.write("base.json", &Like::GOOD.file());
    let candidate = bench.write("candidate.json", &Like { ttft: 4.0, ..Like::GOOD }.file());
    let said = bench.expect(1, &["compare", "--base", arg(&base), "--candidate", arg(&candidate)]);
    assert!(said.out.starts_with("FAIL  "), "{}", said.out);
}

#[test]
fn another_workload_is_not_comparable() {
    let bench = Bench::new();
    let base = bench.write("base.json", &Like::GOOD.file());
    let candidate = bench.write("candidate.json", &Like { input: 2048, ..Like::GOOD }.file());
    let said = bench.expect(3, &["compare", "--base", arg(&base), "--candidate", arg(&candidate)]);
    assert!(said.out.contains("not comparable") || said.out.contains("NOT COMPARABLE"), "{}", said.out);
}

#[test]
fn report_exits_as_the_verb_did_and_keeps_every_number() {
    let bench = Bench::new();
    let cases = [
        ("regression", fixtures::regression(), 1),
        ("cannot_tell", fixtures::cannot_tell(), 3),
        ("not_comparable", fixtures::not_comparable(), 3),
    ];
    for (name, report, code) in cases {
        let file = bench.write(&format!("{name}.json"), &serde_json::to_string(&report).unwrap());
        let said = bench.expect(code, &["report", arg(&file), "--format", "json"]);
        assert_eq!(serde_json::from_str::<Report>(&said.out).unwrap(), report);
    }
}

#[test]
fn a_finding_decides_where_it_is_asked_to() {
    let bench = Bench::new();
    let mut report = fixtures::regression();
    report.verdict = firstcheck_model::report::Verdict::Pass;
    let file = bench.write("report.json", &serde_json::to_string(&report).unwrap());
    bench.expect(0, &["report", arg(&file)]);
    bench.expect(1, &["report", arg(&file), "--fail-on", "major"]);
    bench.expect(0, &["report", arg(&file), "--fail-on", "critical"]);
}

#[test]
fn a_report_of_another_version_is_refused() {
    let bench = Bench::new();
    let file = bench.write("report.json", r#"{"schema": "firstcheck.report/99"}"#);
    let said = bench.expect(2, &["report", arg(&file)]);
    assert!(said.err.contains("this version reads firstcheck.report/1"), "{}", said.err);
}
