//! `firstcheck sim run` and `sim faults`.

use crate::harness::Bench;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

const SHORT: [&str; 6] = ["--rate", "20", "--warm-up", "0s", "--duration", "5s"];

fn run(bench: &Bench, out: &str, more: &[&str]) -> String {
    let args = ["sim", "run", "--out", out].into_iter().chain(SHORT).chain(more.iter().copied());
    bench.expect(0, &args.collect::<Vec<_>>()).out
}

fn truth(bench: &Bench, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(bench.path(name)).unwrap()).unwrap()
}

/// Files below `folder` with their contents.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn a_simulated_run_is_a_bundle_with_the_truth_beside_it() {
    let bench = Bench::new();
    let said = run(&bench, "sick", &["--replicas", "2", "--fault", "slow-replica:replica=1,host_ms=20@1s.."]);
    for part in
        ["on 2 replicas", "completed", "preemptions", "fault: slow-replica:", "S29", "bundle: sick", "truth: sick"]
    {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
    let truth = truth(&bench, "sick.truth.json");
    assert_eq!(truth["faults"][0]["symptom"], "S29");
    assert_eq!(truth["replicas"].as_array().unwrap().len(), 2);
    let inside = files(&bench.path("sick"));
    assert!(inside.iter().all(|(path, _)| !path.display().to_string().contains("truth")));
    assert!(inside.iter().all(|(_, content)| !String::from_utf8_lossy(content).contains("slow-replica")));
    assert!(inside.iter().any(|(path, _)| path.ends_with("attached/server-replica-1.log")), "{inside:?}");
    let report = bench.call(&["report", "sick"]);
    assert!(report.code == 0 || report.code == 3, "{}", report.err);
}

#[test]
fn equal_arguments_give_equal_bundles() {
    let bench = Bench::new();
    fs::create_dir(bench.path("one")).unwrap();
    fs::create_dir(bench.path("two")).unwrap();
    for folder in ["one/run", "two/run"] {
        run(&bench, folder, &["--seed", "7"]);
    }
    let contents =
        |folder: &str| files(&bench.path(folder)).into_iter().map(|(_, content)| content).collect::<Vec<_>>();
    assert!(contents("one") == contents("two"), "two runs of the same arguments differ");
}

#[test]
fn a_run_is_not_written_over() {
    let bench = Bench::new();
    run(&bench, "run", &[]);
    let again = bench.expect(2, &["sim", "run", "--out", "run"]);
    assert!(again.err.contains("not empty"), "{}", again.err);
    let other = bench.expect(2, &["sim", "run", "--out", "other", "--truth", "run.truth.json"]);
    assert!(other.err.contains("is there already"), "{}", other.err);
    assert!(!bench.path("other").exists());
}

#[test]
fn what_cannot_be_simulated_says_why() {
    let bench = Bench::new();
    for (args, part) in [
        (&["--fault", "slow-replca"][..], "did you mean `slow-replica`?"),
        (&["--fault", "slow-replica:host_ms=x"], "expected a number"),
        (&["--set", "max_num_sequences=1"], "unknown field"),
        (&["--set", "replica-3.block_size=16"], "there is no replica-3"),
        (&["--set", "block_size=0"], "block_size"),
        (&["--prefill", "1"], "--decode"),
    ] {
        let all: Vec<&str> = ["sim", "run", "--out", "run"].into_iter().chain(args.iter().copied()).collect();
        let said = bench.expect(2, &all);
        assert!(said.err.contains(part), "{args:?}: {}", said.err);
        assert!(!bench.path("run").exists(), "{args:?} leaves a folder");
    }
}

#[test]
fn two_pools_and_options_reach_the_deployment() {
    let bench = Bench::new();
    run(&bench, "pools", &["--prefill", "1", "--decode", "2", "--set", "transfer.latency_seconds=0.05"]);
    let truth = truth(&bench, "pools.truth.json");
    let names: Vec<&str> = truth["replicas"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["prefill-0", "decode-0", "decode-1"]);
    assert!(truth["requests"][0]["handed_over"]["tokens"].as_u64().unwrap() > 0);
}

#[test]
fn the_list_of_faults_is_the_same_in_every_layout() {
    let bench = Bench::new();
    let terminal = bench.expect(0, &["sim", "faults"]).out;
    let markdown = bench.expect(0, &["sim", "faults", "--format", "markdown"]).out;
    let json: Value = serde_json::from_str(&bench.expect(0, &["sim", "faults", "--format", "json"]).out).unwrap();
    assert_eq!(json["schema"], "firstcheck.faults/1");
    let faults = json["faults"].as_array().unwrap();
    assert!(faults.len() >= 3);
    for fault in faults {
        let slug = fault["slug"].as_str().unwrap();
        assert!(terminal.contains(slug) && markdown.contains(&format!("`{slug}`")), "{slug}");
        let single = bench.expect(0, &["sim", "faults", slug]).out;
        assert!(single.contains(fault["doc"].as_str().unwrap()), "{single}");
    }
    let of = bench.expect(0, &["sim", "faults", "s15"]).out;
    assert!(of.contains("kv-pool-shrank") && !of.contains("template-deploy"), "{of}");
    assert!(bench.expect(2, &["sim", "faults", "S99"]).err.contains("S99"));
}
