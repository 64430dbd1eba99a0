//! `firstcheck.toml`: what is wrong, on which line, and what was meant.

use crate::{
    harness::{Bench, arg},
    results::Like,
};

/// The error of a configuration.
fn error_of(text: &str) -> String {
    let bench = Bench::new();
    bench.write("firstcheck.toml", text);
    bench.expect(2, &["explain"]).err
}

#[test]
fn mistakes_are_named_with_their_line() {
    for (text, expected) in [
        ("[compair]\n", "firstcheck.toml:1: unknown key `compair`; did you mean `compare`?"),
        ("\n[slo]\nttfd = \"1s\"\n", "firstcheck.toml:3: unknown key `ttfd`; did you mean `ttft`?"),
        ("[slo]\nbananas = 1\n", "firstcheck.toml:2: unknown key `bananas`; known: ttft, "),
        ("[slo]\nttft = \"fast\"\n", "firstcheck.toml:2: cannot read duration `fast`"),
        ("[slo]\nttft = -1\n", "firstcheck.toml:2: invalid value"),
        ("[compare]\nalpa = 0.05\n", "firstcheck.toml:2: unknown key `alpa`; did you mean `alpha`?"),
        ("\n\n[compare]\nalpha = 2.0\n", "firstcheck.toml:3: policy: alpha is 2"),
        ("[compare]\nmix_tolerance = nan\n", "firstcheck.toml:1: policy: mix_tolerance is NaN"),
        ("[compare]\nsingle_batches = 4000000000\n", "firstcheck.toml:1: policy: single_batches is 4000000000"),
        ("[compare.slo]\nttft = -3\n", "firstcheck.toml:1: policy: slo.ttft is -3"),
        ("[compare]\nalpha = \"small\"\n", "firstcheck.toml:2: invalid type: string \"small\""),
        ("[compare.slices]\npromt = [512]\n", "firstcheck.toml:2: unknown key `promt`; did you mean `prompt`?"),
        ("[compare]\n[compare.slices]\nprompt = [512, 128]\n", "firstcheck.toml:1: policy: slices.prompt is 128: each"),
        (
            "[[compare.gates]]\nmetric = \"ttft\"\nquantile = 0.95\nmargn = 0.1\n",
            "firstcheck.toml:4: unknown key `margn`; did you mean `margin`?",
        ),
        (
            "[[compare.cells]]\nname = \"cold\"\ncahce = \"cold\"\n",
            "firstcheck.toml:3: unknown key `cahce`; did you mean `cache`?",
        ),
        (
            "[[compare.gates]]\nmetric = \"tttf\"\nquantile = 0.95\nmargin = 0.1\n",
            "firstcheck.toml:2: unknown value `tttf`; did you mean `ttft`?",
        ),
        (
            "[[compare.gates]]\nmetric = \"bananas\"\nmargin = 0.1\n",
            "firstcheck.toml:2: unknown value `bananas`; known: ttft, ",
        ),
        ("[compare]\nlooks = [8, 6]\n", "firstcheck.toml:1: policy: looks: "),
        (
            "[compare]\nmin_pairs = 10\nmax_pairs = 2\n",
            "firstcheck.toml:1: policy: min_pairs is 10 and max_pairs is 2: no number of pairs could pass: raise max_pairs",
        ),
        ("[compare]\ngpus = 0\n", "firstcheck.toml:1: policy: gpus is 0: it must be positive"),
        ("[workload]\nrequest = 5\n", "firstcheck.toml:2: unknown key `request`; did you mean `requests`?"),
        (
            "[slo]\nttft = 1\n\n[check.constant-premption]\n",
            "firstcheck.toml:4: no check `constant-premption`; did you mean `constant-preemption`?",
        ),
        (
            "[check.constant-preemption]\nno_such_parameter = 1\n",
            "firstcheck.toml:2: check `constant-preemption` has no parameter `no_such_parameter`",
        ),
        ("[slo\n", "firstcheck.toml:1: "),
    ] {
        let said = error_of(text);
        assert!(said.starts_with(&format!("error: {expected}")), "{text:?} gave\n{said}");
    }
}

/// The policy that the page of the gate shows is one.
#[test]
fn the_documented_policy_is_read() {
    let page = include_str!("../../../../docs/gate.md");
    let policy = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let bench = Bench::new();
    bench.write("firstcheck.toml", policy);
    bench.expect(0, &["explain"]);
}

#[test]
fn a_named_file_must_be_there_and_the_default_one_need_not() {
    let bench = Bench::new();
    bench.expect(0, &["explain"]);
    let said = bench.expect(2, &["explain", "--config", "mine.toml"]);
    assert!(said.err.starts_with("error: cannot read mine.toml\ncause: "), "{}", said.err);
}

#[test]
fn the_objective_of_the_file_holds_unless_the_command_line_has_one() {
    let bench = Bench::new();
    bench.write("firstcheck.toml", "[slo]\nttft = \"150ms\"\n");
    let good = bench.write("good.json", &Like::GOOD.file());
    let share = |args: &[&str]| {
        let mut all = vec!["report", arg(&good), "--format", "json"];
        all.extend(args);
        let report: firstcheck_model::report::Report = serde_json::from_str(&bench.call(&all).out).unwrap();
        let row = report.metric(firstcheck_model::metric::Metric::GoodShare, "total").expect("a good share").clone();
        row.candidate.and_then(firstcheck_model::report::Quantity::finite).expect("a value")
    };
    assert!(share(&[]) < 0.5, "a tight bound");
    assert!(share(&["--slo", "ttft=10s"]) > 0.99, "a wide one");
}

#[test]
fn gates_come_from_the_policy() {
    let bench = Bench::new();
    bench.write("none.toml", "[compare]\ngates = []\n");
    let good = bench.write("good.json", &Like::GOOD.file());
    let args =
        ["compare", "--base", arg(&good), "--candidate", arg(&good), "--policy", "none.toml", "--format", "json"];
    let said = bench.call(&args);
    assert!(!said.out.contains("margin.ttft.p95"), "no margin is in force:\n{}", said.out);
}
