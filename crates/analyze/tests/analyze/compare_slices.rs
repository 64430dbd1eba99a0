//! Slices and cells: what is worse somewhere is found there, and what cannot be told there is said.

use crate::synthetic::{Spec, pairs};
use firstcheck_analyze::compare::{Condition, Gate, Policy, SliceMargin, Slices, compare};
use firstcheck_model::{
    evidence::RunEvidence,
    metric::Metric,
    report::{Claim, MetricRow, Report, Verdict},
    run::CacheState,
};

fn spec() -> Spec {
    Spec { requests: 1_200, load: 0.2, run_sd: 0.003, ..Spec::default() }
}

/// Lengths by row: every fourth prompt is long, every second output; three of five prompts are cached.
fn shaped(mut runs: Vec<RunEvidence>) -> Vec<RunEvidence> {
    for request in runs.iter_mut().flat_map(|run| run.requests.0.iter_mut().enumerate()) {
        let (row, request) = request;
        request.prompt_tokens = Some(if row % 4 == 0 { 9_000 } else { 500 });
        request.requested_tokens = Some(if row % 2 == 0 { 12 } else { 600 });
        request.cached_tokens = Some(if row % 5 < 3 { 256 } else { 0 });
        request.session = Some((row % 3) as u32);
    }
    runs
}

fn both(candidate: impl Fn(Spec) -> Spec) -> (Vec<RunEvidence>, Vec<RunEvidence>) {
    let (base, candidate) = pairs(8, &spec(), 9, candidate);
    (shaped(base), shaped(candidate))
}

/// First tokens of the requests that `picked` picks come later by that factor.
fn slower(runs: &mut [RunEvidence], factor: f64, picked: fn(usize) -> bool) {
    for run in runs {
        for (_, request) in run.requests.0.iter_mut().enumerate().filter(|(row, _)| picked(*row)) {
            let ttft = request.ttft().unwrap().0;
            request.first_token = request.first_token.plus_ns((ttft * (factor - 1.0) * 1e9) as i64);
        }
    }
}

fn slice<'r>(report: &'r Report, metric: Metric, stat: &str, slice: &str) -> &'r MetricRow {
    let is_it = |row: &&MetricRow| row.metric == metric && row.stat == stat && row.slice.as_deref() == Some(slice);
    report.metrics.iter().find(is_it).unwrap_or_else(|| panic!("{metric} {stat} ({slice}) is not there"))
}

#[test]
fn a_regression_of_one_slice_fails_in_that_slice_and_is_named() {
    let (base, mut candidate) = both(|s| s);
    slower(&mut candidate, 1.4, |row| row % 20 == 0);
    let policy = Policy {
        gates: vec![Gate { metric: Metric::Ttft, quantile: Some(0.5), margin: 0.1, required: true }],
        slices: Slices { prompt: vec![1_000], output: vec![20], ..Slices::default() },
        ..Policy::default()
    };
    // Every twentieth request is a fifth of the long prompts: too few for either median.
    let report = compare(&base, &candidate, &policy);
    assert_ne!(report.verdict, Verdict::Fail, "{:?}", report.why);
    slower(&mut candidate, 1.4, |row| row % 4 == 0 && row % 20 != 0);
    let report = compare(&base, &candidate, &policy);
    assert_eq!(report.verdict, Verdict::Fail);
    assert!(report.why[0].contains("TTFT p50 (prompt above 1000) is worse than its margin"), "{:?}", report.why);
    assert_eq!(slice(&report, Metric::Ttft, "p50", "prompt above 1000").claim, Claim::Regressed);
    for other in ["prompt up to 1000", "output above 20"] {
        assert_ne!(slice(&report, Metric::Ttft, "p50", other).claim, Claim::Regressed, "{other}");
    }
    assert_ne!(report.metric(Metric::Ttft, "p50").unwrap().claim, Claim::Regressed);
}

#[test]
fn quantiles_of_slices_are_those_of_their_requests() {
    let (base, candidate) = both(|s| s);
    let report = compare(&base, &candidate, &Policy::default());
    for (name, picked) in [
        ("prompt above 8192", (|row| row % 4 == 0) as fn(usize) -> bool),
        ("output 129-512", |_| false),
        ("output above 512", |row| row % 2 == 1),
        ("cached", |row| row % 5 < 3),
        ("not cached", |row| row % 5 >= 3),
        ("tenant 2", |row| row % 3 == 2),
    ] {
        let row = slice(&report, Metric::Ttft, "p50", name);
        let of = |run: &RunEvidence| {
            let rows = run.requests.0.iter().enumerate().filter(|(at, _)| picked(*at));
            let mut values: Vec<f64> = rows.map(|(_, r)| r.ttft().unwrap().0).collect();
            values.sort_by(f64::total_cmp);
            (!values.is_empty()).then(|| values[values.len().div_ceil(2) - 1].ln())
        };
        let logs: Option<Vec<f64>> = base.iter().map(of).collect();
        match logs {
            Some(logs) => {
                let typical = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
                let shown = row.base.unwrap().finite().unwrap();
                assert!((shown / typical - 1.0).abs() < 1e-9, "{name}: {shown} and {typical}");
            }
            None => {
                assert_eq!(row.claim, Claim::NotClaimable, "{name}");
                assert!(row.note.as_ref().unwrap().contains("there are 0"), "{:?}", row.note);
            }
        }
    }
    // 300 long prompts a run are too few for a p99.
    assert_eq!(slice(&report, Metric::Ttft, "p99", "prompt above 8192").claim, Claim::NotClaimable);
}

/// Requests that only one side found in its cache are of a slice of their own: picking by what base found would make the
/// candidate look worse.
#[test]
fn what_one_side_alone_found_in_its_cache_is_told_apart() {
    let (base, mut candidate) = both(|s| s);
    for run in &mut candidate {
        run.requests.0.iter_mut().step_by(2).for_each(|request| request.cached_tokens = Some(0));
    }
    let report = compare(&base, &candidate, &Policy::default());
    assert_eq!(slice(&report, Metric::Ttft, "p50", "cached on one side").n, [Some(360 * 8), Some(360 * 8)]);
}

#[test]
fn slices_that_are_required_hold_up_a_pass() {
    let (base, mut candidate) = both(|s| s);
    // One run of the candidate is slow for long prompts alone: nothing is decided there.
    slower(&mut candidate[..2], 1.5, |row| row % 4 == 0);
    let gates = vec![Gate { metric: Metric::Ttft, quantile: Some(0.5), margin: 0.1, required: true }];
    let open = Policy { gates, ..Policy::default() };
    let strict = Policy { slices: Slices { required: true, ..Slices::default() }, ..open.clone() };
    let report = compare(&base, &candidate, &open);
    assert_eq!(report.verdict, Verdict::Pass, "{:?}", report.why);
    assert!(report.why.iter().any(|why| why.contains("gated rows of slices are not decided")), "{:?}", report.why);
    let report = compare(&base, &candidate, &strict);
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert!(report.why[0].contains("TTFT p50 (prompt above 8192) is not decided"), "{:?}", report.why);
}

fn wider(slice: &str, quantile: f64, margin: f64) -> SliceMargin {
    SliceMargin { slice: slice.into(), metric: Metric::Ttft, quantile: Some(quantile), margin }
}

/// Long prompts may be half as slow again where the policy says so; everybody else may not.
#[test]
fn a_slice_with_a_margin_of_its_own_is_held_to_it() {
    let (base, mut candidate) = both(|s| s);
    slower(&mut candidate, 1.3, |row| row % 4 == 0);
    let gates = vec![Gate { metric: Metric::Ttft, quantile: Some(0.5), margin: 0.1, required: true }];
    let with = |margins: Vec<SliceMargin>| Policy {
        gates: gates.clone(),
        slices: Slices {
            prompt: vec![1_000],
            output: Vec::new(),
            cache: false,
            tenant: false,
            margins,
            ..Slices::default()
        },
        ..Policy::default()
    };
    for (margins, verdict, claim) in [
        (vec![], Verdict::Fail, Claim::Regressed),
        (vec![wider("prompt up to 1000", 0.5, 0.5)], Verdict::Fail, Claim::Regressed),
        (vec![wider("prompt above 1000", 0.5, 0.5)], Verdict::Pass, Claim::RegressedWithinMargin),
        (vec![wider("prompt above 1000", 0.5, 0.2)], Verdict::Fail, Claim::Regressed),
    ] {
        let report = compare(&base, &candidate, &with(margins.clone()));
        let row = slice(&report, Metric::Ttft, "p50", "prompt above 1000");
        assert_eq!((report.verdict, row.claim), (verdict, claim), "{margins:?}: {:?}", report.why);
        let own = margins.iter().find(|margin| margin.slice == "prompt above 1000").map_or(0.1, |own| own.margin);
        assert!((row.margin.unwrap() - own).abs() < 1e-9, "{margins:?}");
    }
}

#[test]
fn a_margin_of_a_slice_that_cannot_be_there_is_refused_with_those_that_can() {
    let checked = |margins: Vec<SliceMargin>| {
        Policy { slices: Slices { margins, ..Slices::default() }, ..Policy::default() }.check()
    };
    assert_eq!(checked(vec![wider("cached", 0.5, 0.2), wider("tenant 3", 0.95, 0.2)]), Ok(()));
    for (margins, said) in [
        (vec![wider("prompt above 4096", 0.5, 0.2)], "prompt up to 1024, prompt 1025-8192, prompt above 8192, output"),
        (vec![wider("tenant big", 0.5, 0.2)], "there is no slice `tenant big`"),
        (vec![wider("cached", 0.5, 0.2), wider("cached", 0.5, 0.3)], "is given twice"),
        (vec![wider("cached", 0.9, 0.2)], "slices are not gated on it"),
        (vec![wider("cached", 0.5, 0.0)], "it must be positive"),
    ] {
        let error = checked(margins).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

fn in_cell(mut runs: Vec<RunEvidence>, cell: &str, cache: CacheState) -> Vec<RunEvidence> {
    for run in &mut runs {
        run.info.workload.cache = cache;
        run.info.id.0 += cell;
        let place = run.info.place.as_mut().unwrap();
        place.cell = (!cell.is_empty()).then(|| cell.to_owned());
    }
    runs
}

#[test]
fn every_cell_has_to_pass_and_one_that_fails_fails() {
    let (base, candidate) = pairs(8, &spec(), 9, |s| s);
    let slow = pairs(8, &spec(), 9, |s| Spec { slow: 1.3, ..s }).1;
    let cells = |cold: &[RunEvidence], warm: &[RunEvidence]| {
        let base = [in_cell(base.clone(), "cold", CacheState::Cold), in_cell(base.clone(), "warm", CacheState::Warm)];
        let candidate =
            [in_cell(cold.to_vec(), "cold", CacheState::Cold), in_cell(warm.to_vec(), "warm", CacheState::Warm)];
        (base.concat(), candidate.concat())
    };
    let (b, c) = cells(&candidate, &candidate);
    let report = compare(&b, &c, &Policy::default());
    assert_eq!(report.verdict, Verdict::Pass, "{:?}", report.why);
    assert_eq!(
        report.cells.iter().map(|cell| (&cell.cell[..], cell.pairs)).collect::<Vec<_>>(),
        [("cold", 8), ("warm", 8)]
    );
    let (b, c) = cells(&candidate, &slow);
    let report = compare(&b, &c, &Policy::default());
    assert_eq!(report.verdict, Verdict::Fail);
    assert!(report.why[0].starts_with("cell warm fails: "), "{:?}", report.why);
    assert_eq!(report.cells[0].verdict, Verdict::Pass);
    let (b, c) = cells(&candidate, &candidate[..4]);
    assert_eq!(compare(&b, &c, &Policy::default()).verdict, Verdict::Inconclusive);
}

#[test]
fn a_cell_of_the_policy_takes_the_pairs_that_it_describes_and_one_without_pairs_bars_a_pass() {
    let (base, candidate) = pairs(8, &spec(), 9, |s| s);
    let cold = Condition { cache: Some(CacheState::Cold), ..Condition::named("cold") };
    let high = Condition { least_load: Some(0.8), ..Condition::named("high load") };
    let with = |cells: Vec<Condition>| compare(&base, &candidate, &Policy { cells, ..Policy::default() });
    let report = with(vec![cold.clone()]);
    assert_eq!(report.verdict, Verdict::Pass, "{:?}", report.why);
    let report = with(vec![cold.clone(), high.clone()]);
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert!(report.why.iter().any(|why| why.contains("cell high load is not decided: 0 pairs")), "{:?}", report.why);
    let report = with(vec![cold, Condition { required: false, ..high.clone() }]);
    assert_eq!(report.verdict, Verdict::Pass, "{:?}", report.why);
    // What no cell describes is a cell of its own.
    let report = with(vec![Condition { required: false, ..high }]);
    assert_eq!(report.cells.last().map(|cell| (&cell.cell[..], cell.pairs)), Some(("other", 8)));
}

#[test]
fn cells_that_cannot_be_told_apart_are_refused() {
    for cells in [
        vec![Condition::named("")],
        vec![Condition::named("other")],
        vec![Condition::named("cold"), Condition::named("cold")],
        vec![Condition { least_load: Some(-1.0), ..Condition::named("low") }],
    ] {
        assert!(Policy { cells: cells.clone(), ..Policy::default() }.check().is_err(), "{cells:?}");
    }
}
