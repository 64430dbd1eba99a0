//! Where output goes: standard output, a file, a pipe that closes, colour.

use crate::{
    fixtures,
    harness::{Bench, arg},
    results::Like,
};
use std::{io::Read, process::Stdio};

#[test]
fn percent_changes_read_as_people_say_them() {
    // 800 → 1200, 35 → 42 and 12 → 9 print as +50 %, +20 % and −25 %.
    use firstcheck_model::{
        metric::{Metric, Stat},
        report::{MetricRow, Quantity, Report},
    };
    let bench = Bench::new();
    let finite = |value: f64| Some(Quantity::Finite(value));
    let row = |metric, stat, base, candidate| {
        MetricRow::shown(metric, stat, finite(base), finite(candidate), [Some(1000), Some(1000)])
    };
    let mut report = Report::new("compare", "firstcheck 0.1.0");
    report.sides = fixtures::regression().sides;
    report.metrics = vec![
        row(Metric::Ttft, Stat::Quantile(0.95), 0.8, 1.2),
        row(Metric::Itl, Stat::Quantile(0.5), 0.035, 0.042),
        row(Metric::Goodput, Stat::Total, 12.0, 9.0),
    ];
    let file = bench.write("report.json", &serde_json::to_string(&report).unwrap());
    let said = bench.expect(0, &["report", arg(&file)]);
    for expected in
        ["TTFT p95 800 ms 1.20 s +50 %", "ITL p50 35.0 ms 42.0 ms +20 %", "goodput 12.0 req/s 9.00 req/s −25 %"]
    {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.out.lines().any(|line| words(line).starts_with(expected)), "{expected:?} in\n{}", said.out);
    }
}

#[test]
fn a_file_gets_the_report_and_standard_output_nothing() {
    let bench = Bench::new();
    let file = bench.write("report.json", &serde_json::to_string(&fixtures::cannot_tell()).unwrap());
    let printed = bench.expect(3, &["report", arg(&file), "--format", "markdown"]).out;
    let said = bench.expect(3, &["report", arg(&file), "--format", "markdown", "--output", "report.md"]);
    assert_eq!(said.out, "");
    assert_eq!(std::fs::read_to_string(bench.path("report.md")).unwrap(), printed);
}

#[test]
fn a_destination_that_cannot_be_written_is_known_before_the_work() {
    let bench = Bench::new();
    let args = ["compare", "--base", "nowhere", "--candidate", "nowhere", "--output", "no/such/folder/report.json"];
    let said = bench.expect(2, &args);
    assert!(said.err.starts_with("error: cannot create no/such/folder/report.json\ncause: "), "{}", said.err);
}

#[test]
fn colour_only_where_it_is_asked_for() {
    let bench = Bench::new();
    let file = bench.write("report.json", &serde_json::to_string(&fixtures::regression()).unwrap());
    assert!(!bench.expect(1, &["report", arg(&file)]).out.contains('\u{1b}'), "a pipe gets none");
    assert!(bench.expect(1, &["report", arg(&file), "--color", "always"]).out.contains('\u{1b}'));
}

#[test]
fn a_pipe_that_closes_is_no_failure() {
    let bench = Bench::new();
    let good = bench.write("good.json", &Like::GOOD.file());
    let mut child = bench
        .command(&["compare", "--base", arg(&good), "--candidate", arg(&good)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{err}");
    assert_eq!(err, "");
}

#[test]
fn what_is_not_built_yet_is_not_called_unknown() {
    let bench = Bench::new();
    for asked in ["S29", "slow replica"] {
        let said = bench.expect(2, &["explain", asked]).err;
        assert!(said.contains("S29 (one slow replica of several makes the tail of all) has no check yet"), "{said}");
    }
    assert!(bench.expect(2, &["explain", "S45"]).err.contains("no check `S45`"));
    let said = bench.expect(0, &["explain", "the engine refuses to start"]);
    assert!(said.err.contains("taking `the engine refuses to start` to mean S14 (startup-oom)"), "{}", said.err);
}

#[test]
fn explain_lists_the_checks_and_prints_a_page() {
    let bench = Bench::new();
    let table = bench.expect(0, &["explain"]).out;
    assert!(table.lines().any(|line| line.starts_with("S15  constant-preemption  ")), "{table}");
    let by_code = bench.expect(0, &["explain", "S15"]).out;
    assert!(by_code.starts_with("# S15 constant-preemption\n"), "{by_code}");
    assert_eq!(by_code, bench.expect(0, &["explain", "constant-preemption"]).out);
    let said = bench.expect(2, &["explain", "constant-premption"]);
    assert_eq!(said.err, "error: no check `constant-premption`; did you mean `constant-preemption`?\n");
}

#[test]
fn the_ending_of_the_file_names_the_format_where_nothing_else_does() {
    let bench = Bench::new();
    let file = bench.write("report.json", &serde_json::to_string(&fixtures::regression()).unwrap());
    for (name, begins) in [
        ("page.md", "## firstcheck: FAIL"),
        ("page.xml", "<?xml"),
        ("again.json", "{"),
        ("page.txt", "FAIL  TTFT"),
        ("page", "FAIL  TTFT"),
    ] {
        bench.expect(1, &["report", arg(&file), "-o", name]);
        let page = std::fs::read_to_string(bench.path(name)).unwrap();
        assert!(page.starts_with(begins), "{name}: {page}");
    }
    bench.expect(1, &["report", arg(&file), "-o", "page.md", "--format", "github"]);
    assert!(std::fs::read_to_string(bench.path("page.md")).unwrap().starts_with("::error "));
}

#[test]
fn a_report_that_is_shared_names_nobody() {
    let bench = Bench::new();
    let mut report = fixtures::regression();
    report.notes.push("bundles in acme/pairs of http://gpu-7.corp:8000".into());
    let file = bench.write("report.json", &serde_json::to_string(&report).unwrap());
    let shared = bench.expect(1, &["report", arg(&file), "--redact", "--format", "json"]).out;
    for name in ["acme", "gpu-7", "llama"] {
        assert!(!shared.contains(name), "{name} in {shared}");
    }
    assert_eq!(crate::schema::violations(&serde_json::from_str(&shared).unwrap()), Vec::<String>::new());
}
