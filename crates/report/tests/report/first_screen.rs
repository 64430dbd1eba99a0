//! The first screen of a diagnosis.

use crate::fixtures;
use firstcheck_model::{
    finding::{Cause, Finding, Outcome},
    first_look::{Affected, Began, Change, Settles, StagePart},
    measurement::Missing,
    metric::Metric,
    report::{Quantity, Report, Unread},
};
use firstcheck_report::{Format, Style, render};

fn change(metric: Metric, stat: &str, base: f64, candidate: f64) -> Change {
    Change {
        metric,
        stat: stat.into(),
        unit: metric.unit().into(),
        base: Quantity::Finite(base),
        candidate: Quantity::of(candidate).unwrap(),
        n: [Some(1200), Some(1190)],
        claim: firstcheck_model::report::Claim::Shown,
        stage: None,
        replicas: None,
    }
}

fn incident() -> Report {
    let mut report = fixtures::regression();
    report.verb = "diagnose".into();
    report.why = vec![
        "14 read, nothing was left unread".into(),
        "covers 2026-01-01T12:00:00Z to 2026-01-01T12:01:30Z; the newest is 4 min old".into(),
        "vllm 0.32.0, replicas replica-0 · replica-1".into(),
    ];
    report.took_s = Some(0.41);
    let mut ttft = change(Metric::Ttft, "p95", 0.12, 0.38);
    ttft.stage = Some(StagePart { stage: "queue".into(), delta: 0.24, share: Some(0.92), basis: "spans".into() });
    ttft.replicas = Some(Affected { worse: vec!["replica-1".into()], of: 2 });
    report.changes = vec![
        ttft,
        change(Metric::LongestGap, "p95", 0.061, f64::INFINITY),
        change(Metric::Preemptions, "total", 3.0, 312.0),
    ];
    report.began = Some(Began { run: "incident".into(), at_s: 52.0, unix_s: Some(1_767_268_852.0) });
    report.settles = vec![Settles {
        what: "the engine's start-up log".into(),
        obtain: "kubectl logs POD > server.log".into(),
        causes: vec!["S15 graph-memory".into(), "S16 over-estimate".into()],
        checks: vec!["S14".into()],
    }];
    report
}

fn screen(report: &Report, width: usize) -> String {
    let page = render(report, Format::Terminal, &Style { width, ..Style::default() }).unwrap();
    let rows: usize = page.lines().map(|line| line.chars().count().div_ceil(width).max(1)).sum();
    assert!(rows <= 24, "{rows} lines at width {width}:\n{page}");
    page
}

#[test]
fn an_incident_fits() {
    insta::assert_snapshot!("first_screen_80", screen(&incident(), 80));
    insta::assert_snapshot!("first_screen_120", screen(&incident(), 120));
}

#[test]
fn nothing_found_is_not_said_to_be_healthy() {
    let mut report = incident();
    (report.changes, report.began, report.sides.base) = (Vec::new(), None, None);
    report.findings.retain(|finding| !matches!(finding.outcome, Outcome::Present { .. }));
    let undecided = |code: &str| Finding {
        code: code.into(),
        outcome: Outcome::Undecided { missing: vec![Missing::not_given("requests", "firstcheck run --url URL")] },
        ..report.findings[0].clone()
    };
    report.findings.extend(["S01", "S07"].map(undecided).to_vec());
    let page = screen(&report, 100);
    assert!(page.contains("2 could not tell (S01, S07)") && !page.contains("healthy"), "{page}");
    insta::assert_snapshot!("first_screen_nothing", page);
}

/// A side whose metrics the other lacks was not compared, and is not said to be like it.
#[test]
fn sides_with_nothing_in_common_were_not_compared() {
    let mut report = incident();
    (report.changes, report.began) = (Vec::new(), None);
    assert!(screen(&report, 100).contains("by the metrics that both have"));
    report.metrics.iter_mut().for_each(|row| row.base = None);
    assert!(screen(&report, 100).contains("no metric in common"));
}

/// Whatever is found and however long it is, the screen is one screen; the rest is asked for with `--all`.
#[test]
fn too_much_of_everything_fits_as_well() {
    let mut report = incident();
    let long = "a very long sentence that goes on ".repeat(20);
    let mut finding = report.findings[0].clone();
    if let Outcome::Present { facts, causes, .. } = &mut finding.outcome {
        facts[0].text = long.clone();
        for cause in causes {
            if let Cause::Supported { means, facts, follow_up, .. } = cause {
                *means = long.clone();
                facts[0].text = long.clone();
                facts.push(facts[0].clone());
                follow_up.measure = long.clone();
                follow_up.command = long.clone();
                follow_up.mitigation = Some(long.clone());
            }
        }
    }
    report.findings = vec![finding; 9];
    report.changes = vec![report.changes[0].clone(); 5];
    report.why.iter_mut().for_each(|why| *why = long.clone());
    report.invalid = vec![long.clone(); 4];
    report.unread = vec![Unread { path: long.replace(' ', "_"), line: Some(7), reason: long.clone() }; 30];
    report.settles[0].what = long.clone();
    report.settles[0].obtain = long;
    for width in [80, 100, 120] {
        let page = screen(&report, width);
        for part in ["read", "cause", "next", "missing", "--all"] {
            assert!(page.contains(part), "{part}:\n{page}");
        }
    }
}

#[test]
fn all_gives_the_rest() {
    let page = render(&incident(), Format::Terminal, &Style { all: true, ..Style::default() }).unwrap();
    assert!(page.contains("What differs") && page.contains("✘ excluded"), "{page}");
}
