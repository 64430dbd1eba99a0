//! How often a comparison errs, on a few experiments. The tables of the documentation are made of thousands:
//! `cargo run --release -p firstcheck-experiment --example characteristics`.

use firstcheck_experiment::characteristics::{Experiment, Judgement, Options, Regime, Sessions, Tally};
use firstcheck_model::report::Verdict;

const COUNT: u64 = 24;

fn regime() -> Regime {
    Regime { load: 0.5, ..Regime::plain() }
}

fn judged(regime: &Regime, slower: f64, count: u64) -> Vec<Judgement> {
    let experiment =
        Experiment::new(regime, Options { pairs: 8, traces: 1, sessions: Sessions::OfTrace, slower, seed: 3 }).unwrap();
    (0..count).map(|number| experiment.run(number).unwrap()).collect()
}

fn share(tally: &Tally, statistic: &str, of: fn(&firstcheck_experiment::characteristics::Row) -> f64) -> f64 {
    let (_, row) = tally.rows.iter().find(|(name, _)| name == statistic).unwrap_or_else(|| panic!("{:?}", tally.rows));
    of(row)
}

#[test]
fn a_deployment_like_the_base_does_not_fail_and_its_intervals_hold_the_truth() {
    let tally = Tally::of(&judged(&regime(), 0.0, COUNT));
    assert_eq!(tally.fail.hits, 0);
    for statistic in ["TTFT p50", "TTFT p95", "TPOT p50"] {
        // Of 24 intervals at 95 % fewer than 18 hold the truth once in ten million series.
        let covered = share(&tally, statistic, |row| row.covered.hits as f64);
        assert!(covered >= 18.0, "{statistic}: {covered}");
    }
}

#[test]
fn a_slower_one_is_found_and_never_passes() {
    let judged = judged(&regime(), 0.25, COUNT / 4);
    let tally = Tally::of(&judged);
    assert_eq!((tally.fail.hits, tally.pass.hits), (COUNT / 4, 0), "{:?}", judged[0].comparison.finish().why);
    let effect = share(&tally, "TPOT p50", |row| row.effect);
    assert!((0.2..0.4).contains(&effect), "{effect}");
}

#[test]
fn an_experiment_repeats_exactly() {
    let effects = || judged(&regime(), 0.05, 2).iter().map(|one| one.effects.clone()).collect::<Vec<_>>();
    assert_eq!(effects(), effects());
}

#[test]
fn a_load_of_a_half_leaves_nothing_waiting_and_preemption_is_there_where_it_is_meant() {
    for regime in Regime::all() {
        let experiment = Experiment::new(
            &regime,
            Options { pairs: 2, traces: 1, sessions: Sessions::OfTrace, slower: 0.0, seed: 1 },
        )
        .unwrap();
        let report = experiment.run(0).unwrap().comparison.finish();
        assert_ne!(report.verdict, Verdict::NotComparable, "{}: {:?}", regime.name, report.why);
        let preemptions = report.metrics.iter().find(|row| row.metric == firstcheck_model::metric::Metric::Preemptions);
        let preempts = preemptions.is_some_and(|row| row.base.and_then(|n| n.finite()).is_some_and(|n| n > 0.0));
        assert_eq!(preempts, regime.name.starts_with("preemption"), "{}", regime.name);
    }
}
