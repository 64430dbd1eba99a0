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
fn a_gate_that_gates_nothing_does_not_look_like_a_pass() {
    let bench = Bench::new();
    let policy = bench.write("policy.toml", "[compare]\ngates = []\n");
    let measured =
        ["ab", "--base", "sim:", "--candidate", "sim:", "--rate", "6", "--warm-up", "0s", "--duration", "5s"];
    let more = ["--pairs", "2", "--out", "pairs", "--policy", arg(&policy), "--output", "report.json"];
    let said = bench.expect(0, &[&measured[..], &more].concat());
    assert!(said.err.contains("warning: nothing is gated"), "{}", said.err);
    let annotated = bench.expect(0, &["report", "report.json", "--format", "github"]).out;
    assert!(annotated.starts_with("::warning"), "{annotated}");
    let base = ["compare", "--base", "pairs/pair-01-base", "pairs/pair-02-base"];
    let candidate = ["--candidate", "pairs/pair-01-candidate", "pairs/pair-02-candidate", "--policy", arg(&policy)];
    let said = bench.expect(0, &[&base[..], &candidate].concat());
    assert!(said.err.contains("warning: nothing is gated") && said.out.contains("is no pass"), "{}", said.err);
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

#[test]
fn a_report_never_overwrites_what_it_is_of() {
    let bench = Bench::new();
    let good = bench.write("good.json", &Like::GOOD.file());
    bench.write("other.json", &Like { ttft: 0.21, ..Like::GOOD }.file());
    bench.expect(0, &["import", "good.json", "--out", "runs"]);
    for args in [
        &["compare", "--base", "good.json", "--candidate", "other.json", "--output", "./good.json"][..],
        &["report", "good.json", "--output", "good.json"],
        &["import", "good.json", "--out", "x", "--output", "good.json"],
        &["report", "runs/good", "--output", "runs/good/run.json"],
        &["fingerprint", "good.json", "--output", "good.json"],
    ] {
        let said = bench.expect(2, args);
        assert!(said.err.contains("would overwrite"), "{args:?}: {}", said.err);
    }
    assert_eq!(std::fs::read_to_string(&good).unwrap(), Like::GOOD.file());
    bench.expect(0, &["report", "runs/good"]);
}

#[test]
fn a_report_that_fails_leaves_what_was_there() {
    let bench = Bench::new();
    let old = bench.write("report.md", "yesterday's");
    bench.write("poem.txt", "roses are red\n");
    bench.expect(2, &["report", "poem.txt", "--output", "report.md"]);
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "yesterday's");
    bench.expect(2, &["report", "poem.txt", "--output", "new.md"]);
    assert!(!bench.path("new.md").exists(), "nothing was written");
    bench.write("good.json", &Like::GOOD.file());
    bench.expect(0, &["report", "good.json", "--output", "report.md"]);
    assert!(std::fs::read_to_string(&old).unwrap().starts_with("## firstcheck: report\n"), "written from its start");
}

#[test]
fn what_a_folder_lost_is_said_by_import() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("results")).unwrap();
    bench.write("results/a.json", &Like::GOOD.file());
    bench.write("results/b.json", &Like::GOOD.file()[..5000]);
    let said = bench.expect(0, &["import", "results", "--out", "runs"]);
    assert!(said.out.contains("Not read (1)") && said.out.contains("b.json"), "{}", said.out);
}

#[cfg(unix)]
#[test]
fn a_device_is_refused_and_not_read_to_its_end() {
    let bench = Bench::new();
    let said = bench.expect(2, &["report", "/dev/zero"]);
    assert!(said.err.contains("/dev/zero is no regular file"), "{}", said.err);
    let said = bench.expect(2, &["explain", "--config", "/dev/zero"]);
    assert!(said.err.contains("larger than 1 MiB"), "{}", said.err);
}

#[test]
fn a_run_is_not_compared_with_itself() {
    let bench = Bench::new();
    bench.write("a.json", &Like::GOOD.file());
    bench.write("copy.json", &Like::GOOD.file());
    let said = bench.expect(3, &["compare", "--base", "a.json", "--candidate", "copy.json"]);
    assert!(said.out.contains("one run stands on both sides"), "{}", said.out);
}

#[test]
fn a_refused_argument_that_may_hold_a_secret_is_not_repeated() {
    let bench = Bench::new();
    for args in [
        &["run", "--url", "http://me:hunter2@127.0.0.1:1"][..],
        &["run", "--url", "http://127.0.0.1:1", "--extra-body", "{\"key\": \"hunter2"],
        &["run", "--url", "http://127.0.0.1:1", "--header", "hunter2"],
        &["run", "--url", "http://127.0.0.1:1", "--scrape", "hunter2"],
        &["run", "--url", "http://127.0.0.1:1/?key=hunter2"],
        &["fingerprint", "http://me:hunter2@127.0.0.1:1/?key=hunter2"],
    ] {
        let said = bench.expect(2, args);
        assert!(!said.err.contains("hunter2") && !said.out.contains("hunter2"), "{args:?}: {}", said.err);
    }
}

#[test]
fn an_error_does_not_steer_the_terminal() {
    let bench = Bench::new();
    let said = bench.expect(2, &["report", "\u{1b}]0;owned\u{7}\u{202e}.json"]);
    assert!(!said.err.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{:?}", said.err);
}
