//! What the demonstration claims, for seeds 1 to 20.

use firstcheck_analyze::{judge::judge, settings::Settings};
use firstcheck_experiment::demo::{incident_pairs, policy};
use firstcheck_model::{
    evidence::Evidence,
    finding::{Cause, Outcome},
    metric::Metric,
    report::{Claim, Report, Verdict},
};

/// Seeds whose claims are tested; two threads share them.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=20;

fn report(seed: u64) -> Report {
    let (base, candidate) = incident_pairs(8, seed).unwrap();
    judge(&Evidence::of(base), &Evidence::of(candidate), &policy(), &Settings::default())
}

#[test]
fn the_claims_hold_for_every_seed() {
    let odd = std::thread::spawn(|| SEEDS.filter(|s| s % 2 == 1).for_each(|seed| claims(seed, &report(seed))));
    SEEDS.filter(|s| s % 2 == 0).for_each(|seed| claims(seed, &report(seed)));
    odd.join().unwrap();
}

fn claims(seed: u64, report: &Report) {
    assert_eq!(report.verdict, Verdict::Fail, "seed {seed}: {:?}", report.why);
    let row =
        |metric, stat: &str| report.metric(metric, stat).unwrap_or_else(|| panic!("seed {seed}: no {metric} {stat}"));
    let ratio = |metric, stat: &str| row(metric, stat).ratio.and_then(|r| r.finite()).unwrap();

    let ttft = row(Metric::Ttft, "p95");
    assert_eq!((ttft.pairs, ttft.claim), (8, Claim::Regressed), "seed {seed}");
    let up = ratio(Metric::Ttft, "p95");
    assert!((1.35..1.70).contains(&up), "seed {seed}: p95 TTFT × {up:.2} is not about a half more");

    let down = ratio(Metric::Goodput, "total");
    assert!((0.68..0.83).contains(&down), "seed {seed}: goodput × {down:.2} is not about a quarter less");

    let queue = report.stages.iter().find(|s| s.stage == "queue" && s.of == "ttft p95").unwrap();
    let share = queue.share.unwrap();
    assert!(share > 0.8, "seed {seed}: the queue carries {share:.2} of the p95 TTFT");

    let preempted = |side: Option<firstcheck_model::report::Quantity>| side.and_then(|q| q.finite()).unwrap();
    let preemptions = row(Metric::Preemptions, "total");
    let (before, after) = (preempted(preemptions.base), preempted(preemptions.candidate));
    assert!(after > 5.0 * before.max(1.0), "seed {seed}: preemptions {before} to {after}");
    assert!(ratio(Metric::KvCapacity, "total") < 0.6, "seed {seed}");
    assert!(
        ratio(Metric::LongestGap, "p99") > 1.2,
        "seed {seed}: longest gap p99 × {:.2}",
        ratio(Metric::LongestGap, "p99")
    );
    finding(seed, report);
}

fn finding(seed: u64, report: &Report) {
    let preemption = report.findings.iter().find(|f| f.code == "S15").unwrap();
    let Outcome::Present { causes, explains, .. } = &preemption.outcome else {
        panic!("seed {seed}: {:?}", preemption.outcome)
    };
    let supported: Vec<&str> = causes.iter().filter(|c| c.is_supported()).map(Cause::id).collect();
    assert_eq!(supported, ["kv-pool-shrank"], "seed {seed}");
    let explains = explains.as_ref().unwrap();
    assert!(explains.explained / explains.delta > 0.8, "seed {seed}: {explains:?}");
}

#[test]
fn without_the_change_nothing_is_claimed() {
    let (base, _) = incident_pairs(2, 1).unwrap();
    let mut same = base.clone();
    same.iter_mut()
        .filter_map(|run| run.info.place.as_mut())
        .for_each(|p| p.role = firstcheck_model::run::Role::Candidate);
    let report = judge(&Evidence::of(base), &Evidence::of(same), &policy(), &Settings::default());
    assert_ne!(report.verdict, Verdict::Fail);
    let preemption = report.findings.iter().find(|f| f.code == "S15").unwrap();
    assert!(matches!(preemption.outcome, Outcome::Absent { .. }), "{:?}", preemption.outcome);
}
