//! `firstcheck ab` on simulated deployments.

use crate::{
    harness::{Bench, Said},
    schema,
};
use firstcheck_model::{
    metric::Metric,
    report::{Report, Verdict},
};
use std::time::{Duration, Instant};

/// A short experiment of two pairs.
const SHORT: [&str; 12] =
    ["--rate", "6", "--warm-up", "5s", "--duration", "20s", "--pairs", "2", "--format", "json", "--out", "ab"];

fn ab<'a>(candidate: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["ab", "--base", "sim:--blocks 8200", "--candidate", candidate][..], &SHORT, more].concat()
}

fn report(said: &Said) -> Report {
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

#[test]
fn a_fault_fails_and_compare_says_the_same_of_the_folder() {
    let bench = Bench::new();
    let slow = "sim:slow-replica:host_ms=20 --blocks 8200";
    let args = ["ab", "--base", "sim:--blocks 8200", "--candidate", slow, "--rate", "4", "--warm-up", "5s"];
    let more = ["--duration", "60s", "--pairs", "8", "--format", "json", "--out", "ab", "--load", "0.5"];
    let said = bench.expect(1, &[&args[..], &more].concat());
    let value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(schema::violations(&value), Vec::<String>::new());
    let found = report(&said);
    assert_eq!((found.verb.as_str(), found.verdict), ("ab", Verdict::Fail), "{:?}", found.why);

    let sides = |role: &str| (1..=8).map(|n| format!("ab/pair-{n:02}-{role}")).collect::<Vec<_>>();
    let (base, candidate) = (sides("base"), sides("candidate"));
    let mut compare: Vec<&str> = vec!["compare", "--base"];
    compare.extend(base.iter().map(String::as_str));
    compare.push("--candidate");
    compare.extend(candidate.iter().map(String::as_str));
    compare.extend(["--format", "json"]);
    let again = report(&bench.expect(1, &compare));
    assert_eq!((again.verdict, &again.why, &again.metrics), (found.verdict, &found.why, &found.metrics));
}

#[test]
fn sides_are_told_apart_and_an_experiment_keeps_its_folder() {
    let bench = Bench::new();
    bench.expect(0, &["sim", "run", "--rate", "2", "--duration", "30s", "--out", "one"]);
    for out in ["a", "b"] {
        let seed = if out == "a" { "1" } else { "2" };
        let mut args = ab("sim:", &["--seed", seed]);
        let place = args.iter().position(|arg| *arg == "--out").unwrap() + 1;
        args[place] = out;
        bench.call(&args);
    }
    let said = bench.expect(2, &["compare", "--base", "a", "--candidate", "b"]);
    assert!(said.err.contains("--base holds runs of both sides"), "{}", said.err);
    let sides = ["compare", "--base", "a/pair-01-base", "b/pair-01-base", "--candidate", "a/pair-01-candidate"];
    let said = bench.call(&[&sides[..], &["b/pair-01-candidate", "--format", "json"]].concat());
    let notes = report(&said).notes;
    let warned = |side: &str| notes.iter().any(|note| note.contains(&format!("{side} holds runs of 2 experiments")));
    assert!(warned("base") && warned("candidate"), "{notes:?}");
    for (out, expected) in
        [("a", "is the folder of an experiment"), ("one", "is or lies in the bundle"), ("one/x", "lies in")]
    {
        let said = bench.expect(2, &["import", "one", "--out", out]);
        assert!(said.err.contains(expected), "{out}: {}", said.err);
    }
}

#[test]
fn the_sides_differ_in_nothing_but_what_acts() {
    let bench = Bench::new();
    // The fault needs a scene of its own (several replicas), which base gets as well.
    let args = ["ab", "--base", "sim:", "--candidate", "sim:slow-replica", "--rate", "6", "--warm-up", "0s"];
    let said = bench.call(&[&args[..], &["--duration", "10s", "--pairs", "2", "--format", "json"]].concat());
    let found = report(&said);
    assert_eq!(found.differences, [], "{:?}", found.why);
    assert!(found.metric(Metric::Ttft, "p50").is_some_and(|row| row.pairs == 2));
}

#[test]
fn a_killed_experiment_goes_on_and_ends_as_one_that_was_not() {
    let whole = Bench::new();
    let candidate = "sim:--blocks 8300";
    let expected = whole.call(&ab(candidate, &[]));
    for wanted in [2, 5, 9] {
        let bench = Bench::new();
        let ledger = bench.path("ab/ledger.jsonl");
        let lines = || std::fs::read_to_string(&ledger).map_or(0, |text| text.lines().count());
        let mut child = bench.command(&ab(candidate, &["--quiet"])).spawn().unwrap();
        let begun = Instant::now();
        while lines() < wanted && child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(120), "{} lines of the ledger", lines());
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let said = bench.call(&ab(candidate, &[]));
        assert_eq!((said.code, &said.out), (expected.code, &expected.out), "killed after {wanted} lines");
        assert!(std::fs::read_to_string(&ledger).unwrap().contains("\"resumed\""));
    }
}

#[test]
fn what_cannot_be_done_is_said_with_its_mend() {
    let bench = Bench::new();
    bench.write("full", "");
    let cases: [(&[&str], &str); 5] = [
        (&["ab", "--base", "sim:no-such-fault", "--candidate", "sim:"], "no-such-fault"),
        (&["ab", "--base", "sim:--no-such-option 3", "--candidate", "sim:"], "--no-such-option"),
        (&["ab", "--base", "sim:", "--candidate", "sim:", "--pairs", "7"], "multiple of 2"),
        (&["ab", "--base", "sim:", "--candidate", "sim:", "--load", "no"], "expected a share"),
        (&["ab", "--base", "sim:", "--candidate", "sim:", "--out", "."], "name a new folder with --out"),
    ];
    for (args, expected) in cases {
        let said = bench.expect(2, args);
        assert!(said.err.contains(expected), "{args:?}: {}", said.err);
    }
    bench.call(&ab("sim:", &[]));
    let said = bench.expect(2, &ab("sim:", &["--seed", "9"]));
    assert!(said.err.contains("seed: 1 there, 9 asked"), "{}", said.err);
}

#[test]
fn a_look_that_decides_ends_it_and_a_later_reader_spends_no_more() {
    let bench = Bench::new();
    let slow = "sim:slow-replica:host_ms=30 --blocks 8200";
    let args = ["ab", "--base", "sim:--blocks 8200", "--candidate", slow, "--rate", "4", "--warm-up", "0s"];
    let more = ["--duration", "60s", "--looks", "4,8", "--format", "json", "--out", "ab", "--load", "0.5"];
    let found = report(&bench.expect(1, &[&args[..], &more].concat()));
    assert!(found.notes.iter().any(|note| note.contains("the look after 4 of 8 pairs decided")), "{:?}", found.notes);
    assert!(!bench.path("ab/pair-05-base").exists());
    let sides = |role: &str| (1..=4).map(|n| format!("ab/pair-{n:02}-{role}")).collect::<Vec<_>>();
    let (base, candidate) = (sides("base"), sides("candidate"));
    let mut compare: Vec<&str> = vec!["compare", "--format", "json", "--base"];
    compare.extend(base.iter().map(String::as_str));
    compare.push("--candidate");
    compare.extend(candidate.iter().map(String::as_str));
    let again = report(&bench.expect(1, &compare));
    assert_eq!((&again.why, &again.metrics), (&found.why, &found.metrics), "the runs know their looks");
}

#[test]
fn a_calibration_is_kept_used_and_void_when_base_changes() {
    let bench = Bench::new();
    let short = ["--rate", "6", "--warm-up", "0s", "--duration", "20s", "--format", "json"];
    let noted = |args: &[&str], what: &str| {
        let found = report(&bench.call(&[args, &short].concat()));
        assert!(found.notes.iter().any(|note| note.contains(what)), "{args:?}: {:?}", found.notes);
    };
    noted(&["ab", "--aa", "--base", "sim:", "--out", "aa"], "is kept in firstcheck.calibration.json");
    noted(&["ab", "--aa", "--base", "sim:", "--out", "aa"], "0 of 1 comparisons of base with itself failed");
    let two = ["--pairs", "2", "--seed", "9"];
    let same = [&["ab", "--base", "sim:", "--candidate", "sim:"][..], &two].concat();
    noted(&same, "the log ratio spreads by TTFT p50");
    noted(
        &["ab", "--aa", "--base", "sim:", "--pairs", "2"],
        "nothing was calibrated: that takes 8 pairs, and 2 were run",
    );
    let other = [&["ab", "--base", "sim:--version 0.31.0", "--candidate", "sim:"][..], &two].concat();
    noted(&other, "is void, since base changed (engine_version");
    bench.write("firstcheck.calibration.json", "{}");
    let said = bench.expect(2, &[&same[..], &short].concat());
    assert!(said.err.contains("firstcheck.calibration.json is no file of calibrations"), "{}", said.err);
}

#[test]
fn a_plan_says_what_it_takes_and_does_nothing() {
    let bench = Bench::new();
    let said =
        bench.expect(0, &["ab", "--base", "sim:", "--candidate", "sim:", "--rate", "6", "--plan", "--sequential"]);
    for part in [
        "pairs: 6 to 16, 12 to 32 runs, 18 min to 48 min of virtual time",
        "warm-up: learnt from a first run of base",
        "TTFT p95: margin 10 %, finds 6.5 % with 6 pairs",
        "TTFT p99: margin 10 %, finds",
        "NOT CLAIMABLE: needs 1000 requests in a window",
    ] {
        assert!(said.out.contains(part), "{part}\n{}", said.out);
    }
    assert_eq!(std::fs::read_dir(bench.path("")).unwrap().count(), 0, "nothing was written");
}

#[test]
fn a_plan_claims_nothing_of_requests_that_are_due_when_others_end() {
    let bench = Bench::new();
    let plan = |more: &[&str]| {
        let said = bench.expect(0, &[&["ab", "--base", "sim:", "--candidate", "sim:", "--plan"], more].concat());
        said.out
    };
    let sessions = plan(&["--rate", "1", "--turns", "fixed:4", "--seed", "3"]);
    assert!(sessions.contains(", and as many later turns as sessions get to\n"), "{sessions}");
    assert!(!sessions.contains("NOT CLAIMABLE"), "60 sessions of 4 turns may be 240 requests: {sessions}");
    let counted = plan(&["--concurrency", "4", "--requests", "300"]);
    assert!(counted.contains("pairs: 8, 16 runs\na run: as long as its requests take"), "{counted}");
    let timed = plan(&["--concurrency", "4", "--duration", "60s"]);
    assert!(timed.contains("at most 24 min of virtual time\na run: 90 s"), "{timed}");
}
