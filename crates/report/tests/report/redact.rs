//! What identifies whose a report is, planted in every place that can hold it, is in no rendering after it was taken out.

use crate::fixtures;
use firstcheck_model::{
    finding::Outcome,
    fingerprint::field,
    first_look::{Affected, Began, Change},
    measurement::{Fact, Source},
    metric::Metric,
    moment::Moment,
    report::{NotUnderstood, Quantity, ReadRow, Report, Unread},
    run::RunId,
};
use firstcheck_report::{Format, Style, redact, render};
use std::collections::BTreeMap;

/// Names that were planted, in small letters.
const PLANTED: [&str; 17] = [
    "acme",
    "zeppelin",
    "gpu-node-17",
    "10.20.30.40",
    "fd00::17",
    "alice",
    "corp.example",
    "confidential",
    "once upon a time",
    "secret-llm",
    "tenant-blue",
    "/data",
    "\\\\share",
    "incident-4711",
    "vllm-deploy-7f9c",
    "grüße",
    "prod-eu",
];

fn series(labels: &str) -> Source {
    Source::Series {
        run: RunId("incident-4711".into()),
        name: "vllm:num_preemptions_total".into(),
        labels: labels.into(),
        from_ns: Moment::at(0),
        to_ns: Moment::at(1),
    }
}

fn planted() -> Report {
    let mut report = fixtures::regression();
    report.why = vec![
        "http://alice:pw@gpu-node-17.corp.example:8000/v1 → /data/acme/after: 3 fields differ".into(),
        "vllm 0.32.0, replicas vllm-deploy-7f9c".into(),
    ];
    report.invalid = vec!["gpu-node-17 ran out of memory; 10.20.30.40:8000 and [fd00::17]:8000 did not answer".into()];
    for (name, side) in [("a", &mut report.sides.base), ("b", &mut report.sides.candidate)] {
        let side = side.as_mut().unwrap();
        side.fingerprint.set(field::MODEL, "acme/Secret-LLM-70B", "/v1/models");
        side.fingerprint.set(field::MODEL_ROOT, "/data/models/secret-llm", "/data/acme/server.log");
        side.fingerprint.set("given.host", "gpu-node-17", "/data/acme/server.log");
        side.fingerprint.set("env.CUSTOM", "zeppelin words", "env");
        for run in &mut side.runs {
            run.id = RunId(format!("incident-4711-{name}"));
            run.label = format!("/data/acme/{name}/incident-4711");
            run.workload = "trace of \\\\share\\acme\\trace.jsonl".into();
            run.errors = BTreeMap::from([
                ("http 400 prompt 'Once upon a time' is too long".into(), 3),
                ("Once upon a time".into(), 1),
            ]);
        }
    }
    report.figures.timelines[0].run = "/data/acme/incident-4711".into();
    report.differences[0].base = "zeppelin".into();
    report.differences[0].field = "given.served_model_name".into();
    report.differences[1].base_from = "/data/acme/server.log:12".into();
    report.metrics[0].slice = Some("tenant tenant-blue".into());
    if let Outcome::Present { facts, .. } = &mut report.findings[0].outcome {
        facts.push(Fact::told(
            "acme/Secret-LLM-70B said \"Once upon a time there was a confidential king\" to alice@corp.example",
            Source::line("/data/acme/server.log", 12),
        ));
        facts.push(Fact::told(
            "secret-llm-70b of ~/confidential/x waits on pod vllm-deploy-7f9c in prod-eu",
            series("{model_name=\"Secret-LLM-70B\",pod=\"vllm-deploy-7f9c\",namespace=\"prod-eu\"}"),
        ));
    }
    report.read.push(ReadRow {
        path: "/data/acme/server.log".into(),
        format: "engine-log".into(),
        what: "engine log".into(),
        rows: 3,
        unit: "lines".into(),
        from_unix_s: None,
        to_unix_s: None,
        length_s: None,
        engine: Some("vllm".into()),
        version: Some("0.32.0".into()),
        replicas: vec!["gpu-node-17".into(), "10.20.30.40:8000".into(), "vllm-deploy-7f9c".into()],
        notes: vec!["Grüße from confidential.txt.zst".into(), "`Grüße, Once upon a time there was` is no line".into()],
    });
    report.read[0].notes[0] = "read from /data/Grüße/confidential.log".into();
    report.unread.push(Unread {
        path: "incident-4711.tar!acme/notes.txt".into(),
        line: Some(3),
        reason: "cannot read acme/notes.txt".into(),
    });
    report.not_understood.push(NotUnderstood {
        path: "/data/acme/server.log".into(),
        what: "line".into(),
        kind: "api_server".into(),
        count: 1,
        line: Some(3),
        example: "Received prompt: Once upon a time".into(),
    });
    report.began = Some(Began { run: "incident-4711".into(), at_s: 3.0, unix_s: None });
    report.changes = vec![Change {
        metric: Metric::Ttft,
        stat: "p95".into(),
        unit: "s".into(),
        base: Quantity::Finite(0.1),
        candidate: Quantity::Finite(0.2),
        n: [None, None],
        claim: firstcheck_model::report::Claim::Shown,
        stage: None,
        replicas: Some(Affected { worse: vec!["gpu-node-17".into()], of: 2 }),
    }];
    report.notes = vec!["bundles in acme/pairs: firstcheck compare --base /data/acme/pairs/*-base".into()];
    report
}

#[test]
fn nothing_that_was_planted_is_left() {
    let report = planted();
    let shared = redact(&report).unwrap();
    let all = Style { all: true, width: 1000, ..Style::default() };
    for format in [Format::Json, Format::Terminal, Format::Html, Format::Markdown, Format::Junit, Format::Github] {
        let page = render(&shared, format, &all).unwrap().to_lowercase();
        let left: Vec<_> = PLANTED.iter().filter(|name| page.contains(**name)).collect();
        assert!(left.is_empty(), "{format:?} still has {left:?}:\n{page}");
    }
    let open = render(&report, Format::Json, &all).unwrap().to_lowercase();
    let absent: Vec<_> = PLANTED.iter().filter(|name| !open.contains(**name)).collect();
    assert!(absent.is_empty(), "never planted: {absent:?}");
}

#[test]
fn what_identifies_nobody_stays() {
    let (report, shared) = (planted(), redact(&planted()).unwrap());
    assert_eq!(shared.verdict, report.verdict);
    assert_eq!(shared.stages, report.stages);
    assert_eq!(shared.parameters, report.parameters);
    let numbers =
        |report: &Report| -> Vec<_> { report.metrics.iter().map(|row| (row.metric, row.ratio, row.n)).collect() };
    assert_eq!(numbers(&shared), numbers(&report));
    let codes = |report: &Report| -> Vec<_> { report.findings.iter().map(|one| one.code.clone()).collect() };
    assert_eq!(codes(&shared), codes(&report));
    let run = &shared.sides.candidate.as_ref().unwrap().runs[0];
    assert_eq!(run.errors, BTreeMap::from([("(text removed)".into(), 1), ("http 400".into(), 3)]));
    // The same name has the same placeholder, another another.
    let models = [&shared.sides.base, &shared.sides.candidate]
        .map(|side| side.as_ref().unwrap().fingerprint.get(field::MODEL).unwrap().to_owned());
    assert_eq!(models[0], models[1]);
    assert!(models[0].starts_with("model-"), "{models:?}");
    assert_eq!(shared.sides.base.as_ref().unwrap().fingerprint.get(field::ENGINE_VERSION), Some("0.9.1"));
}

/// A report that names nobody is as it was.
#[test]
fn sentences_without_names_are_left_alone() {
    let mut report = Report::new("compare", "firstcheck 0.1.0");
    for sentence in [
        "TTFT p95 is worse by more than its margin of 10 %: +50 % (+31 … +72 %)",
        "the KV pool holds 28,800 tokens, 40,000 on the base; 12.5 tokens/s, 3/4 of it",
        "read the engine's /metrics between warm-up and window, or /v1/models",
        "p99 takes 1,000 requests: i.e. more pairs. e.g. 8",
        "max_num_seqs of vllm 0.10.1 is `256`, \"auto\" before",
        "fingerprint.kv_blocks in run.json",
        "covers 2026-01-01T12:00:00Z to 2026-01-01T12:01:30Z; the newest is 4 min old",
        "goodput 12.0 req/s → 9.00 req/s",
    ] {
        report.notes.push(sentence.into());
    }
    assert_eq!(redact(&report).unwrap(), report);
}
