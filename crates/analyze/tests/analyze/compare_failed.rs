//! A candidate that sheds load, truncates answers or errors never passes; nor does a run with a missing series.

use crate::synthetic::{Rng, Spec, pairs};
use firstcheck_analyze::compare::{Policy, compare};
use firstcheck_model::{
    evidence::RunEvidence,
    metric::Metric,
    moment::Moment,
    report::{Claim, Report, Verdict},
    request::{Fate, Request},
    signal::{Labels, Part, Series, SeriesKind, Signal},
};

/// What befalls a request.
type Spoil = fn(&mut Request);

/// Pairs of equal deployments with enough requests for every gate.
fn equal(requests: usize, seed: u64) -> (Vec<RunEvidence>, Vec<RunEvidence>) {
    pairs(8, &Spec { requests, run_sd: 0.002, ..Spec::default() }, seed, |s| s)
}

/// What a share of the candidate's requests comes to.
fn spoil(runs: &mut [RunEvidence], share: f64, seed: u64, how: Spoil) -> usize {
    let mut rng = Rng(seed);
    let mut spoilt = 0;
    for request in runs.iter_mut().flat_map(|run| &mut run.requests.0) {
        if rng.next() < share {
            how(request);
            spoilt += 1;
        }
    }
    spoilt
}

fn rejected(request: &mut Request) {
    (request.fate, request.error) = (Fate::Rejected, Some("http 429".into()));
    (request.first_token, request.last_token) = (Moment::NEVER, Moment::NEVER);
}

fn truncated(request: &mut Request) {
    (request.fate, request.finish) = (Fate::Truncated, None);
    request.output_tokens = request.output_tokens.map(|n| n / 2);
}

fn failed(request: &mut Request) {
    (request.fate, request.error) = (Fate::Failed, Some("connection reset".into()));
}

#[test]
fn equal_deployments_pass_and_say_that_nothing_was_lost() {
    let (base, candidate) = equal(250, 11);
    let report = compare(&base, &candidate, &Policy::default());
    assert_eq!(report.verdict, Verdict::Pass, "{:?}", report.why);
    let row = report.metric(Metric::FailedShare, "total").unwrap();
    assert_eq!((row.claim, row.margin), (Claim::NonInferior, Some(0.002)), "{row:?}");
}

#[test]
fn small_shares_of_lost_requests_never_pass_with_or_without_an_slo() {
    for (how, what) in [(rejected as Spoil, "sheds"), (truncated, "truncates"), (failed, "errors")] {
        for (share, fails) in [(0.005, false), (0.01, true), (0.02, true)] {
            for slo in [None, Some("ttft=5s".parse().unwrap())] {
                let (base, mut candidate) = equal(400, 3);
                let spoilt = spoil(&mut candidate, share, 5, how);
                let report = compare(&base, &candidate, &Policy { slo, ..Policy::default() });
                let said = format!("{what} {share} ({spoilt}), slo {slo:?}: {:?}", report.why);
                assert_ne!(report.verdict, Verdict::Pass, "{said}");
                let row = report.metric(Metric::FailedShare, "total").unwrap();
                assert!(!matches!(row.claim, Claim::NonInferior | Claim::RegressedWithinMargin), "{said}");
                if fails {
                    assert_eq!(report.verdict, Verdict::Fail, "{said}");
                }
            }
        }
    }
}

/// Losses that base has too are no reason to fail, and one loss among thousands cannot be told from none.
#[test]
fn what_base_loses_too_does_not_fail() {
    let (mut base, mut candidate) = equal(400, 3);
    spoil(&mut base, 0.01, 7, rejected);
    spoil(&mut candidate, 0.01, 8, rejected);
    let report = compare(&base, &candidate, &Policy::default());
    let row = report.metric(Metric::FailedShare, "total").unwrap();
    assert_ne!(row.claim, Claim::Regressed, "{row:?}");

    let (base, mut candidate) = equal(400, 3);
    failed(&mut candidate[0].requests.0[17]);
    let report = compare(&base, &candidate, &Policy::default());
    assert_ne!(report.verdict, Verdict::Fail, "{:?}", report.why);
}

#[test]
fn too_few_requests_leave_the_failed_share_out_and_say_so() {
    let (base, candidate) = equal(100, 3);
    let report = compare(&base, &candidate, &Policy::default());
    let row = report.metric(Metric::FailedShare, "total").unwrap();
    assert_eq!(row.claim, Claim::NotClaimable);
    assert!(row.note.as_ref().unwrap().contains("none of 800 requests was lost"), "{:?}", row.note);
    // A single loss there is no longer nothing.
    let (base, mut candidate) = equal(250, 3);
    failed(&mut candidate[0].requests.0[17]);
    let report = compare(&base, &candidate, &Policy::default());
    assert_ne!(report.verdict, Verdict::Pass, "{:?}", report.why);
}

#[test]
fn shorter_and_empty_answers_never_pass() {
    let shorten: [(Spoil, &str); 2] = [
        (
            |request| {
                request.requested_tokens = None;
                request.output_tokens = Some(8);
                let pace = (request.last_token.since(request.first_token).unwrap().0 / 11.0 * 1e9) as i64;
                request.last_token = request.first_token.plus_ns(7 * pace);
            },
            "% shorter",
        ),
        (
            |request| {
                request.requested_tokens = None;
                (request.first_token, request.last_token) = (Moment::NEVER, Moment::NEVER);
                request.output_tokens = Some(0);
            },
            "hold no token",
        ),
    ];
    for (how, said) in shorten {
        let (base, mut candidate) = equal(250, 3);
        let every = if said.contains("shorter") { 2 } else { 200 };
        for run in &mut candidate {
            run.requests.0.iter_mut().step_by(every).for_each(how);
        }
        let report = compare(&base, &candidate, &Policy::default());
        assert_ne!(report.verdict, Verdict::Pass, "{:?}", report.why);
        assert!(report.why.iter().any(|why| why.contains(said)), "{said} is not in {:?}", report.why);
    }
}

fn preemptions() -> Series {
    Series {
        name: "vllm:num_preemptions_total".into(),
        labels: Labels::default(),
        page: "main".into(),
        kind: SeriesKind::Counter,
        part: Part::Value,
        signal: Some(Signal::Preemptions),
        at: vec![Moment::at(0), Moment::from_seconds(10_000.0)],
        value: vec![0.0, 0.0],
    }
}

fn with_series(missing: Option<usize>, engine: &str) -> Report {
    let (mut base, mut candidate) = equal(250, 11);
    base.iter_mut().for_each(|run| run.info.fingerprint.set("engine", "vllm", "/metrics"));
    candidate.iter_mut().for_each(|run| run.info.fingerprint.set("engine", engine, "/metrics"));
    base.iter_mut().for_each(|run| run.signals.push(preemptions()));
    // `Some(8)` names no run: all of them lack it.
    let has = |at: usize| engine == "vllm" && missing.is_none_or(|missing| missing != at && missing < 8);
    candidate.iter_mut().enumerate().filter(|(at, _)| has(*at)).for_each(|(_, run)| run.signals.push(preemptions()));
    compare(&base, &candidate, &Policy::default())
}

#[test]
fn a_run_with_a_missing_series_never_passes() {
    assert_eq!(with_series(None, "vllm").verdict, Verdict::Pass);
    let one = with_series(Some(3), "vllm");
    assert_eq!(one.verdict, Verdict::Inconclusive);
    assert!(one.why[0].contains("series preemptions is missing in 1 of 8 runs of the candidate"), "{:?}", one.why);
    assert_eq!(with_series(Some(8), "vllm").verdict, Verdict::Inconclusive);
    // Another engine exposes other series.
    assert_eq!(with_series(None, "sglang").verdict, Verdict::Pass);
}

#[test]
fn a_run_without_its_events_never_passes() {
    let (base, mut candidate) = equal(250, 11);
    candidate[5].streams = None;
    let report = compare(&base, &candidate, &Policy::default());
    assert_eq!(report.verdict, Verdict::Inconclusive, "{:?}", report.why);
}
