//! What was measured becomes a workload again: a log, a run, a case of the gate without any of its text.

use crate::harness::Bench;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Words that stand in the prompts and nowhere else.
const SECRETS: [&str; 4] = ["Xylophanes", "4111-1111-1111-1111", "umbrella", "alice@example.org"];

fn bodies() -> String {
    let body = |at: usize| {
        let text = format!("{} {} asks {} about {} number {at}", SECRETS[3], SECRETS[0], SECRETS[1], SECRETS[2]);
        format!("{{\"messages\": [{{\"role\": \"user\", \"content\": \"{}\"}}], \"max_tokens\": 8}}\n", text.repeat(9))
    };
    (0..40).map(body).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// A sick and a healthy run under the same prompts.
fn two_runs(bench: &Bench) {
    bench.write("bodies.jsonl", &bodies());
    let offered = ["--workload", "bodies:bodies.jsonl", "--rate", "4", "--seed", "7", "--warm-up", "2s", "--out"];
    bench.expect(0, &[&["sim", "run"][..], &offered, &["old"]].concat());
    bench.expect(0, &[&["sim", "run", "--fault", "slow-replica:host_ms=400"][..], &offered, &["new"]].concat());
}

#[test]
fn a_case_holds_lengths_times_and_what_is_shared_and_no_text_survives() {
    let bench = Bench::new();
    two_runs(&bench);
    let said = bench.call(&["compare", "--base", "old", "--candidate", "new", "--add-case", "long-prompts"]);
    assert!(said.out.contains("firstcheck-cases/long-prompts of 40 requests"), "{}\n{}", said.out, said.err);
    let case = bench.path("firstcheck-cases/long-prompts");
    let written = files(&case);
    assert_eq!(written.len(), 2, "{written:?}");
    for path in written {
        let text = std::fs::read_to_string(&path).unwrap();
        for secret in SECRETS.iter().flat_map(|secret| secret.split(['-', '@', '.'])) {
            assert!(!text.contains(secret), "{secret} is in {}", path.display());
        }
    }
    let lines = std::fs::read_to_string(case.join("workload.jsonl")).unwrap();
    let rows: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (rows.len(), rows[0]["output_length"].as_u64(), rows[0]["timestamp"].as_f64()),
        (40, Some(8), Some(0.0))
    );
    for row in &rows {
        let keys: BTreeSet<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = BTreeSet::from(["hash_ids", "input_length", "output_length", "timestamp"]);
        assert_eq!(keys, expected, "numbers alone");
    }
    let again = bench.expect(2, &["compare", "--base", "old", "--candidate", "new", "--add-case", "long-prompts"]);
    assert!(again.err.contains("is there already"), "{}", again.err);
    let bad = bench.expect(2, &["compare", "--base", "old", "--candidate", "new", "--add-case", "../up"]);
    assert!(bad.err.contains("letters, digits"), "{}", bad.err);
}

#[test]
fn a_case_is_what_ab_runs() {
    let bench = Bench::new();
    two_runs(&bench);
    bench.call(&["compare", "--base", "old", "--candidate", "new", "--slo", "ttft=2s", "--add-case", "slow"]);
    let config = ["--config", "firstcheck-cases/slow/firstcheck.toml", "--warm-up", "2s", "--pairs", "2"];
    let sides = ["--base", "sim:", "--candidate", "sim:slow-replica:host_ms=400", "--out", "pairs"];
    let said = bench.call(&[&["ab"][..], &config, &sides].concat());
    assert!([1, 3].contains(&said.code), "{}\n{}", said.out, said.err);
    assert!(said.out.contains("run, ") && bench.path("pairs/pair-02-candidate").is_dir(), "{}", said.out);
}

#[test]
fn a_run_and_an_access_log_are_workloads() {
    let bench = Bench::new();
    two_runs(&bench);
    let said = bench.expect(0, &["sim", "run", "--workload", "run:old", "--out", "again"]).out;
    assert!(said.contains("40 requests"), "{said}");
    let line = |at: usize| {
        format!(
            "{{\"created\": {}, \"usage\": {{\"prompt_tokens\": 100, \"completion_tokens\": 5}}}}\n",
            1_764_517_750 + at
        )
    };
    bench.write("access.log", &(0..30).map(line).collect::<String>());
    let said = bench.expect(0, &["sim", "run", "--workload", "access:access.log", "--out", "logged"]).out;
    assert!(said.contains("30 requests") && said.contains("3000 prompt"), "{said}");
    let line =
        "10.0.0.1 - - [30/Nov/2026:15:49:10 +0000] \"POST /v1/completions HTTP/1.1\" 200 400 request_length=80\n";
    bench.write("bytes.log", line);
    let said = bench.expect(2, &["sim", "run", "--workload", "access:bytes.log", "--out", "x"]);
    assert!(said.err.contains("known in bytes alone"), "{}", said.err);
    bench.expect(0, &["sim", "run", "--workload", "access:bytes.log", "--bytes-per-token", "4,100", "--out", "y"]);
}

#[test]
fn one_run_a_side_is_held_against_pairs_of_base_with_itself() {
    let bench = Bench::new();
    let short = ["--rate", "6", "--warm-up", "0s", "--duration", "40s"];
    bench.call(&[&["ab", "--aa", "--base", "sim:", "--out", "aa"][..], &short].concat());
    let compare = ["compare", "--base", "aa/pair-01-base", "--candidate", "aa/pair-02-candidate", "--format", "json"];
    let said = bench.call(&compare);
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let rows = report["metrics"].as_array().unwrap();
    let row = rows.iter().find(|row| row["metric"] == "ttft" && row["stat"] == "p50").unwrap();
    assert_eq!(row["note"], "predicted from 8 pairs of base with itself", "{row}");
    assert!(row["exploratory"] == true && row["mde"].as_f64().unwrap() > 0.0 && row["interval"].is_array(), "{row}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("predicted from pairs of base with itself"), "{notes}");
}
