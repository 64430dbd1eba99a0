//! What the first screen shows beside findings: changes, what would settle most, and which check is meant.

use crate::{stalls::run, synthetic::Spec};
use firstcheck_analyze::{changes::changes, registry::CHECKS, settling::settles, symptom::meant};
use firstcheck_model::{
    evidence::Evidence,
    finding::{Cause, Finding, FollowUp, Outcome, Severity},
    measurement::Missing,
    metric::{Metric, Stat},
    moment::Moment,
    report::{MetricRow, Quantity, StageRow},
    span::{Stage, StageSpan},
};

fn row(metric: Metric, stat: Stat, base: f64, candidate: f64) -> MetricRow {
    MetricRow::shown(metric, stat, Quantity::of(base), Quantity::of(candidate), [Some(100), Some(100)])
}

#[test]
fn what_got_worse_comes_the_most_first() {
    let rows = [
        row(Metric::Ttft, Stat::Quantile(0.5), 0.1, 0.15),
        row(Metric::Ttft, Stat::Quantile(0.95), 0.2, 0.5),
        row(Metric::Tpot, Stat::Quantile(0.5), 0.01, 0.0105),
        row(Metric::E2e, Stat::Quantile(0.95), 2.0, f64::INFINITY),
        row(Metric::FailedShare, Stat::Total, 0.0, 0.02),
        row(Metric::Goodput, Stat::Total, 9.0, 12.0),
    ];
    let stage = |name: &str, delta: f64| StageRow {
        stage: name.into(),
        contains: vec![name.into()],
        of: "ttft p95".into(),
        base: None,
        candidate: None,
        delta,
        interval: None,
        unit: "s".into(),
        share: Some(delta / 0.3),
        basis: "spans".into(),
        note: None,
    };
    let found =
        changes(&rows, &[stage("queue", 0.25), stage("prefill", 0.05)], &Evidence::default(), &Evidence::default());
    let said: Vec<(Metric, &str)> = found.iter().map(|change| (change.metric, change.stat.as_str())).collect();
    assert_eq!(said, [(Metric::FailedShare, "total"), (Metric::E2e, "p95"), (Metric::Ttft, "p95")]);
    assert_eq!(found[2].stage.as_ref().unwrap().stage, "queue");
    assert!(found.iter().all(|change| change.replicas.is_none()));
    let base = Evidence::of(vec![Spec::default().run()]);
    assert!(changes(&[], &[], &base, &base).is_empty());
}

/// A freeze hardly shows in the time per token: the replica that freezes is told by its gaps.
#[test]
fn a_freeze_names_the_replica_whose_streams_froze() {
    let side = |freezes: bool| {
        let stream = |row: usize| {
            let mut gaps = vec![10.0; 400];
            gaps[200] = if freezes && row % 2 == 1 { 500.0 } else { 10.0 };
            gaps
        };
        let mut run = run(&(0..20).map(stream).collect::<Vec<_>>());
        let span = |row: u32| StageSpan {
            request: row,
            stage: Stage::Decode,
            start: Moment::from_seconds(f64::from(row)),
            end: Moment::from_seconds(f64::from(row) + 1.0),
            replica: Some(format!("replica-{}", row % 2)),
        };
        run.spans = (0..20).map(span).collect();
        Evidence::of(vec![run])
    };
    let rows = [row(Metric::LongestGap, Stat::Quantile(0.95), 0.01, 0.5)];
    let found = changes(&rows, &[], &side(false), &side(true));
    let affected = found[0].replicas.as_ref().unwrap();
    assert_eq!((&affected.worse[..], affected.of), (&["replica-1".to_owned()][..], 2));
}

fn finding(code: &str, outcome: Outcome) -> Finding {
    Finding {
        code: code.into(),
        slug: code.to_lowercase(),
        symptom: "it is slow".into(),
        severity: Severity::Major,
        consequence_of: None,
        outcome,
    }
}

#[test]
fn what_settles_most_open_causes_comes_first() {
    let log = Missing::not_given("the log", "give the log");
    let spans = Missing::not_given("spans", "turn spans on");
    let open = |id: &str, missing: &[&Missing]| Cause::Open {
        id: id.into(),
        means: "it is".into(),
        missing: missing.iter().map(|one| (*one).clone()).collect(),
        follow_up: FollowUp { measure: "m".into(), command: "c".into(), requests: 0, mitigation: None },
    };
    let present = Outcome::Present {
        facts: Vec::new(),
        causes: vec![open("a", &[&log]), open("b", &[&log, &spans])],
        explains: None,
    };
    let undecided = |code: &str| finding(code, Outcome::Undecided { missing: vec![spans.clone()] });
    let all = settles(&[undecided("S02"), undecided("S03"), undecided("S04"), finding("S01", present)]);
    assert_eq!(all.len(), 2);
    assert_eq!(
        (all[0].obtain.as_str(), &all[0].causes[..]),
        ("give the log", &["S01 a".to_owned(), "S01 b".into()][..])
    );
    assert_eq!((all[1].causes.len(), &all[1].checks[..]), (1, &["S02".to_owned(), "S03".into(), "S04".into()][..]));
}

#[test]
fn a_symptom_in_ones_own_words_names_its_check() {
    for check in CHECKS {
        for words in [check.code, &check.code.to_lowercase(), check.slug, check.symptom] {
            let found: Vec<&str> = meant(words).iter().map(|check| check.code).collect();
            assert!(found.contains(&check.code), "{words}: {found:?}");
        }
    }
    let cases = [
        ("requests are preempted all the time", "S15"),
        ("late first token after deploy", "S01"),
        ("tokens arrive in lumps", "S12"),
        ("tokens come in bursts", "S12"),
        ("streaming is choppy", "S07"),
        ("the stream freezes mid answer", "S09"),
        ("latency spikes every minute", "S08"),
        ("server won't start", "S14"),
        ("the server does not come up", "S14"),
        ("oom at startup", "S14"),
        ("cuda out of memory with images", "S18"),
        ("RSS keeps growing", "S17"),
        ("no response", "S19"),
        ("requests are stuck and nothing comes back", "S19"),
        ("retry storm", "S04"),
        ("it never recovers after a burst", "S04"),
        ("json mode is slow", "S11"),
        ("cpu offload is slow", "S05"),
        ("pd disaggregation is slow", "S13"),
        ("kv cache full", "S15"),
        ("queue grows", "S02"),
        ("the hit rate of the cache dropped", "S03"),
    ];
    let found = |words: &str| meant(words).iter().map(|check| check.code).collect::<Vec<_>>();
    let missed: Vec<_> = cases.into_iter().filter(|(words, code)| !found(words).contains(code)).collect();
    let instead: Vec<_> = missed.iter().map(|(words, _)| found(words)).collect();
    assert!(missed.is_empty(), "{missed:?}: {instead:?}");
    let codes = |words: &str| meant(words).iter().map(|check| check.code).collect::<Vec<_>>();
    let family = |from: &str, to: &str| {
        let own = CHECKS.iter().map(|check| check.code).filter(|code| (from..=to).contains(code));
        own.collect::<Vec<_>>()
    };
    for words in ["TTFT", "slow first token", "time to first token went up", "p99 TTFT is too high"] {
        assert_eq!(codes(words), family("S01", "S06"), "{words}");
    }
    for words in ["ITL", "TPOT regressed", "the inter-token latency rose"] {
        assert_eq!(codes(words), family("S07", "S13"), "{words}");
    }
    // More than that it is worse is looked up.
    assert!(codes("late TTFT after deploy").contains(&"S01"));
    assert!(meant("").is_empty() && meant("the of a").is_empty() && meant("zebra crossing umbrella").is_empty());
}
