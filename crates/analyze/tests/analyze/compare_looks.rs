//! Looking before the last pair.

use crate::synthetic::{Spec, pairs};
use firstcheck_analyze::compare::{Comparison, Policy, PolicyError, SoFar, compare};
use firstcheck_model::{evidence::RunEvidence, metric::Metric, report::Verdict};

fn looking() -> Policy {
    Policy { looks: vec![6, 8, 12, 16], ..Policy::default() }
}

/// What each pair adds, until one decides.
fn until_decided(base: &[RunEvidence], candidate: &[RunEvidence], policy: &Policy) -> Vec<SoFar> {
    let mut comparison = Comparison::new(policy.clone());
    let mut seen = Vec::new();
    for (b, c) in base.iter().zip(candidate) {
        comparison.add_pair(b, c);
        seen.push(comparison.so_far());
        if seen.last().is_some_and(|so_far| so_far.decided.is_some()) {
            break;
        }
    }
    seen
}

#[test]
fn a_large_regression_stops_at_an_early_look_and_at_no_other_number_of_pairs() {
    let (base, candidate) = pairs(16, &Spec::default(), 3, |s| Spec { slow: 1.5, ..s });
    let seen = until_decided(&base, &candidate, &looking());
    let last = seen.last().unwrap();
    assert_eq!(last.decided, Some(Verdict::Fail));
    assert!([6, 8].contains(&last.pairs), "{last:?}");
    assert_eq!(last.next_look, Some(if last.pairs == 6 { 8 } else { 12 }));
    assert!(last.gated.iter().any(|row| row.metric == Metric::Tpot && row.interval.is_some()));
    // The report over the same pairs says the same, and the interval is that of the look's own error.
    let n = last.pairs as usize;
    let report = compare(&base[..n], &candidate[..n], &looking());
    assert_eq!(report.verdict, Verdict::Fail);
    assert!(report.metric(Metric::Tpot, "p50").unwrap().confidence.unwrap() > 0.98);
    // One pair more is no look: what stood there before is not judged again.
    let report = compare(&base[..n + 1], &candidate[..n + 1], &looking());
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert!(report.why[0].contains("no look is planned at"), "{:?}", report.why);
}

#[test]
fn equal_deployments_pass_at_a_planned_look() {
    let (base, candidate) = pairs(16, &Spec { run_sd: 0.005, ..Spec::default() }, 5, |s| s);
    let seen = until_decided(&base, &candidate, &looking());
    let last = seen.last().unwrap();
    assert_eq!(last.decided, Some(Verdict::Pass), "{last:?}");
    assert!([8, 12].contains(&last.pairs), "{last:?}");
}

#[test]
fn without_looks_nothing_stops_early_but_what_cannot_be_compared() {
    let (base, mut candidate) = pairs(8, &Spec::default(), 3, |s| Spec { slow: 2.0, ..s });
    let seen = until_decided(&base, &candidate, &Policy::default());
    assert_eq!(seen.len(), 8);
    assert!(seen.iter().all(|so_far| so_far.decided.is_none() && so_far.next_look.is_none()));
    candidate[1].info.workload.streaming = Some(false);
    let seen = until_decided(&base, &candidate, &looking());
    assert_eq!((seen.len(), seen[1].decided), (2, Some(Verdict::NotComparable)));
}

#[test]
fn looks_that_cannot_be_planned_are_refused() {
    for looks in [vec![8, 6], vec![3, 8], vec![4, 5, 6, 7, 8, 9], vec![8, 2_000]] {
        let policy = Policy { looks: looks.clone(), ..Policy::default() };
        assert!(matches!(policy.check(), Err(PolicyError::Looks(_) | PolicyError::Range { .. })), "{looks:?}");
    }
    assert_eq!(looking().check(), Ok(()));
}
