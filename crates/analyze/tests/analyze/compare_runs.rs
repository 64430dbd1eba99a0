//! A run's own report, the policy, and where time went.

use crate::synthetic::{Spec, counter, pairs};
use firstcheck_analyze::compare::{Gate, Policy, PolicyError, compare, describe};
use firstcheck_model::{
    metric::Metric,
    report::{Claim, Verdict},
    request::Fate,
    run::RunState,
    signal::{Part, Signal},
    slo::Slo,
    span::{Stage, StageSpan},
    unit::Seconds,
};

#[test]
fn a_single_run_shows_its_own_values() {
    let run = Spec { slo: Some("ttft=1s".parse().unwrap()), ..Spec::default() }.run();
    let report = describe(&run, &Policy::default());
    assert_eq!((report.verb.as_str(), report.verdict), ("run", Verdict::None));
    assert!(report.metrics.iter().all(|row| row.base.is_none() && row.candidate.is_some()));
    let row = report.metric(Metric::Ttft, "p95").unwrap();
    assert_eq!((row.claim, row.n), (Claim::Shown, [None, Some(250)]));
    assert_eq!(report.metric(Metric::Ttft, "p99").unwrap().claim, Claim::NotClaimable);
    let good = report.metric(Metric::GoodShare, "total").unwrap().candidate.unwrap().finite().unwrap();
    assert!(good > 0.9);
    assert!(report.metric(Metric::TtftFromSent, "p50").is_none(), "sent as intended: it would repeat ttft");

    let mut empty = run.clone();
    empty.requests.0.clear();
    let report = describe(&empty, &Policy::default());
    assert!(report.invalid[0].contains("it holds no request and no figure"), "{:?}", report.invalid);
    assert_eq!(firstcheck_model::exit_code::exit_code(&report, None), 3);

    let mut cut = run;
    cut.info.state = RunState::Interrupted { reason: "ctrl-c".into() };
    let report = describe(&cut, &Policy::default());
    assert_eq!(firstcheck_model::exit_code::exit_code(&report, None), 3);
}

#[test]
fn every_threshold_is_a_named_parameter() {
    let parameters = Policy::default().parameters();
    let fields = serde_json::to_value(Policy::default()).unwrap();
    for name in fields.as_object().unwrap().keys().filter(|name| !["gates", "slo", "slices"].contains(&name.as_str())) {
        assert!(parameters.contains_key(name), "{name} is not shown");
    }
    assert_eq!(parameters["margin.ttft.p95"].value, 0.10);
    assert!(parameters.values().all(|p| !p.meaning.is_empty() && !p.unit.is_empty()));
}

#[test]
fn a_policy_refuses_unknown_keys_and_impossible_numbers() {
    let gate = r#"{"gates": [{"metric": "ttft", "quantile": 0.9, "margin": 0.2}]}"#;
    let policy: Policy = serde_json::from_str(gate).unwrap();
    assert!(policy.gates[0].required && policy.alpha == 0.05);
    policy.check().unwrap();
    for unknown in [r#"{"alhpa": 0.05}"#, r#"{"gates": [{"metric": "ttft", "margin": 0.2, "quantil": 0.9}]}"#] {
        assert!(serde_json::from_str::<Policy>(unknown).is_err(), "{unknown}");
    }
    let bad = [
        Policy { alpha: 0.0, ..Policy::default() },
        Policy { rotations: 100, ..Policy::default() },
        Policy { rotations: u32::MAX, ..Policy::default() },
        Policy { single_batches: u32::MAX, ..Policy::default() },
        Policy { mix_tolerance: f64::NAN, ..Policy::default() },
        Policy { split_half_width: 0.0, ..Policy::default() },
        Policy { slo: Some(Slo { ttft: Some(Seconds(-1.0)), ..Slo::default() }), ..Policy::default() },
        Policy { gates: vec![gate_on(Metric::Ttft, None, 0.0)], ..Policy::default() },
        Policy { gates: vec![gate_on(Metric::GoodShare, None, 5.0)], ..Policy::default() },
    ];
    for policy in bad {
        assert!(matches!(policy.check(), Err(PolicyError::Range { .. })), "{policy:?}");
    }
    let cell = |least, most| {
        let cell = r#"{"cells": [{"name": "high", "least_load": LEAST, "most_load": MOST}]}"#;
        serde_json::from_str::<Policy>(&cell.replace("LEAST", least).replace("MOST", most)).unwrap()
    };
    cell("0.1", "0.9").check().unwrap();
    Policy { looks: vec![8, 12, 20], max_pairs: 20, ..Policy::default() }.check().unwrap();
    for (policy, said) in [
        (Policy { min_pairs: 10, max_pairs: 2, ..Policy::default() }, "min_pairs is 10 and max_pairs is 2: no number"),
        (Policy { looks: vec![8, 40], ..Policy::default() }, "the last of looks is 40 and max_pairs is 16: that look"),
        (Policy { looks: vec![6], ..Policy::default() }, "min_pairs is 8 and the last of looks is 6: no look could"),
        (Policy { min_pairs: 0, ..Policy::default() }, "min_pairs is 0: a single pair has no interval"),
        (Policy { alpha: 0.9999, ..Policy::default() }, "alpha is 0.9999: an error of half the cases"),
        (Policy { load: Some(5.0), ..Policy::default() }, "load is 5: it is a share"),
        (
            Policy { gates: vec![gate_on(Metric::Ttft, Some(0.5), 1e3)], ..Policy::default() },
            "margin of ttft p50 is 1000",
        ),
        (cell("0.9", "0.1"), "least_load of cell high is 0.9 and most_load of cell high is 0.1: no run could be of it"),
    ] {
        let error = policy.check().unwrap_err().to_string();
        assert!(error.starts_with(&format!("policy: {said}")), "{error}");
    }
    let twice = [gate_on(Metric::Ttft, Some(0.5), 0.1), gate_on(Metric::Ttft, Some(0.5), 0.2)];
    for (gates, why) in [(&twice[..], "given twice"), (&[gate_on(Metric::Goodput, Some(0.5), 0.1)], "one value a run")]
    {
        let error = Policy { gates: gates.to_vec(), ..Policy::default() }.check().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

fn gate_on(metric: Metric, quantile: Option<f64>, margin: f64) -> Gate {
    Gate { metric, quantile, margin, required: true }
}

/// The text of a server may differ in every answer.
#[test]
fn a_run_lists_its_most_frequent_errors_and_counts_the_others() {
    let mut run = Spec { reject_every: 2, ..Spec::default() }.run();
    let failed = run.requests.0.iter_mut().filter(|request| request.fate == Fate::Rejected);
    failed.enumerate().for_each(|(n, request)| request.error = Some(format!("error {}", n.saturating_sub(20))));
    let rejected = run.requests.0.iter().filter(|request| request.fate == Fate::Rejected).count() as u64;
    let report = describe(&run, &Policy::default());
    let errors = &report.sides.candidate.unwrap().runs[0].errors;
    assert_eq!(errors.len(), 50);
    assert_eq!(errors["error 0"], 21);
    assert_eq!(errors.values().sum::<u64>(), rejected);
    assert!(errors.keys().any(|text| text.ends_with(" other errors")), "{errors:?}");
}

#[test]
fn nothing_gated_judges_nothing() {
    let (base, candidate) = pairs(4, &Spec::default(), 1, |s| s);
    let report = compare(&base, &candidate, &Policy { gates: Vec::new(), ..Policy::default() });
    assert_eq!(report.verdict, Verdict::None);
    assert!(report.metric(Metric::Ttft, "p50").unwrap().interval.is_some());
}

#[test]
fn counters_are_growth_over_the_window_and_stages_add_up() {
    let run = |noise, queue: f64, hits: f64| {
        let mut run = Spec { noise, ..Spec::default() }.run();
        for (signal, mean) in [(Signal::QueueTime, queue), (Signal::PrefillTime, 0.02), (Signal::DecodeTime, 0.2)] {
            run.signals.push(counter(signal, Part::Sum, mean * 250.0));
            run.signals.push(counter(signal, Part::Count, 250.0));
        }
        run.signals.push(counter(Signal::PrefixHits, Part::Value, hits));
        run.signals.push(counter(Signal::PrefixQueries, Part::Value, 200.0));
        run.signals.push(counter(Signal::Preemptions, Part::Value, 0.0));
        run
    };
    let report = compare(&[run(1, 0.010, 100.0)], &[run(2, 0.040, 50.0)], &Policy::default());
    let value = |metric, stat| report.metric(metric, stat).unwrap().candidate.unwrap().finite().unwrap();
    assert_eq!(value(Metric::HitRate, "total"), 0.25);
    assert_eq!(value(Metric::Preemptions, "total"), 0.0);
    assert!((value(Metric::QueueTime, "mean") - 0.040).abs() < 1e-9);
    for of in ["ttft mean", "e2e mean"] {
        let metric = report.metric(if of == "ttft mean" { Metric::Ttft } else { Metric::E2e }, "mean").unwrap();
        let total = metric.candidate.unwrap().finite().unwrap() - metric.base.unwrap().finite().unwrap();
        let rows: Vec<_> = report.stages.iter().filter(|row| row.of == of).collect();
        assert!((rows.iter().map(|row| row.delta).sum::<f64>() - total).abs() < 1e-9, "{of}");
        let queue = rows.iter().find(|row| row.stage == "queue").unwrap();
        assert!((queue.delta - 0.03).abs() < 1e-9 && queue.basis == "histogram means");
    }
}

#[test]
fn spans_split_a_quantile_into_stages_of_the_same_requests() {
    let with_spans = |mut run: firstcheck_model::evidence::RunEvidence| {
        for (row, request) in run.requests.0.iter().enumerate() {
            let middle = request.first_token.plus_ns(-10_000_000).max(request.intended);
            let span = |stage, start, end| StageSpan { request: row as u32, stage, start, end, replica: None };
            run.spans.push(span(Stage::Queue, request.intended, middle));
            run.spans.push(span(Stage::Prefill, middle, request.first_token));
            run.spans.push(span(Stage::Decode, request.first_token, request.last_token));
        }
        run
    };
    let (base, candidate) = pairs(8, &Spec::default(), 5, |s| Spec { slow: 1.2, ..s });
    let base: Vec<_> = base.into_iter().map(with_spans).collect();
    let candidate: Vec<_> = candidate.into_iter().map(with_spans).collect();
    let report = compare(&base, &candidate, &Policy::default());
    let rows: Vec<_> = report.stages.iter().filter(|r| r.of == "ttft p95" && r.basis == "spans").collect();
    let total: f64 = rows.iter().map(|r| r.delta).sum();
    let p95 = report.metric(Metric::Ttft, "p95").unwrap();
    let seen = p95.candidate.unwrap().finite().unwrap() - p95.base.unwrap().finite().unwrap();
    assert!((total / seen - 1.0).abs() < 0.2, "{total} against {seen}");
    let queue = rows.iter().find(|r| r.stage == "queue").unwrap();
    assert!(queue.share.unwrap() > 0.9, "prefill is 10 ms on both sides: {queue:?}");
    assert!(queue.interval.unwrap()[0] > 0.0);
    let prefill = rows.iter().find(|r| r.stage == "prefill").unwrap();
    assert!(prefill.delta.abs() < 1e-3);
}
