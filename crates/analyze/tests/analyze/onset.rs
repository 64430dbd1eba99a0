//! One side before and after.

use crate::synthetic::Spec;
use firstcheck_analyze::{
    onset::{before_and_after, onset},
    settings::Settings,
    side::Side,
    split::split,
};
use firstcheck_model::{
    evidence::{Evidence, RunEvidence},
    moment::Moment,
    request::Fate,
};

/// A run whose first tokens come later by a factor from a row on.
fn slower(seed: u64, from: usize, factor: impl Fn(usize) -> f64) -> RunEvidence {
    let mut run = Spec { requests: 400, trace: seed, noise: seed, load: 0.2, ..Spec::default() }.run();
    for (row, request) in run.requests.0.iter_mut().enumerate().skip(from) {
        let ns = request.first_token.ns_since(request.sent).unwrap();
        let more = (ns as f64 * (factor(row) - 1.0)) as i64;
        request.first_token = request.first_token.plus_ns(more);
    }
    run
}

#[test]
fn a_step_is_found_where_it_is() {
    for seed in 0..20 {
        let run = slower(seed, 250, |_| 8.0);
        let expected = run.requests[250].sent;
        let found = onset(&Evidence::of(vec![run]), &Settings::default()).expect("a step");
        let off = found.at.since(expected).unwrap().0.abs();
        assert!(
            off < 4.0 && found.what == "TTFT" && found.after.0 > 2.0 * found.before.0,
            "{seed}: {found:?}, off by {off}"
        );
    }
}

#[test]
fn a_run_without_a_change_and_one_that_worsens_all_the_time_have_none() {
    for seed in 0..40 {
        let healthy = slower(seed, 400, |_| 1.0);
        assert_eq!(onset(&Evidence::of(vec![healthy]), &Settings::default()), None, "seed {seed}");
        let ramp = slower(seed, 0, |row| 1.0 + row as f64 / 10.0);
        assert_eq!(onset(&Evidence::of(vec![ramp]), &Settings::default()), None, "seed {seed}");
    }
}

#[test]
fn answers_that_stop_coming_are_an_onset() {
    let mut run = slower(1, 400, |_| 1.0);
    run.requests.0.iter_mut().skip(300).for_each(|request| request.fate = Fate::TimedOut);
    let found = onset(&Evidence::of(vec![run]), &Settings::default()).unwrap();
    assert_eq!(found.after.0, f64::INFINITY);
    assert!(found.to_string().contains("until most requests were not answered"), "{found}");
}

#[test]
fn both_sides_of_a_split_hold_the_run_with_its_window_cut() {
    let run = slower(1, 200, |_| 4.0);
    let rows = run.window().count();
    let evidence = Evidence::of(vec![run]);
    let found = onset(&evidence, &Settings::default()).unwrap();
    let (before, after) = before_and_after(&evidence, &found);
    let count = |evidence: &Evidence| evidence.runs[0].window().count();
    assert_eq!(count(&before) + count(&after), rows);
    assert!(count(&before) > 150 && count(&after) > 150);
    let gaps = |evidence: &Evidence| evidence.runs[0].streams.as_ref().unwrap().event_gaps.count();
    assert_eq!(gaps(&before) + gaps(&after), gaps(&evidence), "every gap is listed, so the halves keep theirs");
    let whole = split(&evidence, |_| None);
    assert_eq!(whole.0, evidence, "a run without a moment stays whole");
    let (none, all) = split(&evidence, |_| Some(Moment::at(-1)));
    assert_eq!((count(&none), count(&all)), (0, rows));
    assert_eq!(Side::new(&none).evidence.runs.len(), 1);
}
