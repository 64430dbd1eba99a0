//! Rollouts: fates under policies, by hand and in general.

use crate::simulate::{config, trace};
use firstcheck_sim::{
    SimulateOptions,
    rollout::{Course, Fate, Generated, Policy, Stale, run, samples_attachment, samples_of, steps_attachment},
    simulate,
};
use proptest::prelude::*;
use serde_json::Value;

const SECOND: i64 = 1_000_000_000;

/// A group of samples that all begin at `start` and take so many seconds each, at ten tokens a second.
fn group(group: u32, start: i64, seconds: &[i64]) -> Vec<Generated> {
    let sample = |took: &i64| Generated {
        group,
        start_ns: start * SECOND,
        end_ns: Some((start + took) * SECOND),
        tokens: (took * 10) as u32,
        truncated: false,
    };
    seconds.iter().map(sample).collect()
}

fn policy() -> Policy {
    Policy { groups_a_step: 1, step_seconds: 10.0, most_lag: Some(1), ..Policy::default() }
}

fn fates(course: &Course, group: u32) -> Vec<(u32, Fate, u32)> {
    let own = course.samples.iter().filter(|sample| sample.group == group);
    own.map(|sample| (sample.attempt, sample.fate, sample.tokens)).collect()
}

/// Three short groups, of which the first two make versions 1 and 2 at 15 and 25 s; a fourth has a short and a long
/// sample.
fn short_and_long() -> Vec<Generated> {
    [group(0, 0, &[5, 5]), group(1, 0, &[6, 6]), group(2, 0, &[7, 7]), group(3, 0, &[8, 50])].concat()
}

#[test]
fn a_long_sample_is_too_old_when_its_turn_has_come() {
    let course = run(&short_and_long(), &policy());
    let versions: Vec<_> = course.steps.iter().map(|step| (step.version, step.start, step.end)).collect();
    assert_eq!(versions, [(0, 5.0, 15.0), (1, 15.0, 25.0)]);
    assert_eq!(fates(&course, 0), [(0, Fate::Used, 50); 2]);
    assert_eq!(fates(&course, 1), [(0, Fate::Used, 60); 2]);
    assert_eq!(fates(&course, 2), [(0, Fate::DroppedStale, 70); 2], "complete at 7 s, but its turn came at version 2");
    assert_eq!(fates(&course, 3), [(0, Fate::DroppedStale, 80), (0, Fate::DroppedStale, 500)]);
}

#[test]
fn a_lenient_policy_uses_all() {
    let course = run(&short_and_long(), &Policy { most_lag: None, ..policy() });
    assert_eq!(course.tokens_of(Fate::Used), course.generated_tokens());
    let last = course.samples.last().unwrap();
    assert_eq!((last.policy_version_start, last.policy_version_end, last.trainer_version), (0, 3, Some(3)));
}

#[test]
fn a_group_is_cancelled_with_its_finished_sibling_and_begun_again() {
    let cancelling = Policy { stale: Stale::CancelsGroup, ..policy() };
    let course = run(&short_and_long(), &cancelling);
    // At 25 s version 2 begins: the group's samples of version 0 are two behind. Half of the long one was done.
    assert_eq!(fates(&course, 3), [(0, Fate::Cancelled, 80), (0, Fate::Cancelled, 250)]);
    let course = run(&short_and_long(), &Policy { most_restarts: 2, ..cancelling });
    assert_eq!(fates(&course, 3)[2..], [(1, Fate::Used, 80), (1, Fate::Used, 500)]);
    assert!(course.generated_tokens() > run(&short_and_long(), &cancelling).generated_tokens());
}

#[test]
fn a_trainer_that_is_too_slow_lets_its_queue_grow() {
    let samples: Vec<Generated> = (0..20).flat_map(|number| group(number, i64::from(number), &[3, 3])).collect();
    let slow = run(&samples, &Policy { most_lag: None, ..policy() });
    let fast = run(&samples, &Policy { most_lag: None, step_seconds: 0.5, ..policy() });
    let longest = |course: &Course| course.steps.iter().map(|step| step.queue_groups).max().unwrap();
    assert!(longest(&slow) > 10 && longest(&fast) == 1);
}

#[test]
fn truncated_failed_and_degenerate_samples_have_fates_of_their_own() {
    let mut samples = group(0, 0, &[5, 5, 5]);
    samples[0].truncated = true;
    samples[1].end_ns = None;
    let strict = Policy { drop_truncated: true, ..policy() };
    let fates: Vec<_> = run(&samples, &strict).samples.iter().map(|sample| sample.fate).collect();
    assert_eq!(fates, [Fate::Truncated, Fate::Failed, Fate::Used]);
    let barren = run(&group(0, 0, &[5]), &Policy { degenerate_share: 1.0, ..policy() });
    assert_eq!((barren.samples[0].fate, barren.steps.len()), (Fate::Filtered, 0));
}

#[test]
fn samples_come_from_a_run_and_go_into_a_log() {
    let recording = simulate(&config(), &trace(64, 16.0), &SimulateOptions::new(1, "run")).unwrap();
    let course = run(&samples_of(&recording.requests, 4), &Policy { groups_a_step: 2, step_seconds: 0.5, ..policy() });
    assert_eq!(course.samples.len(), 64);
    let log = samples_attachment(&course);
    let lines: Vec<Value> =
        std::str::from_utf8(&log.content).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 64);
    assert!(lines.iter().all(|line| line["fate"].is_string() && line["end"].as_f64() >= line["start"].as_f64()));
    let steps = steps_attachment(&course);
    assert_eq!(std::str::from_utf8(&steps.content).unwrap().lines().count(), course.steps.len());
}

proptest! {
    #[test]
    fn every_sample_has_one_fate_and_nothing_stale_is_used(
        lengths in prop::collection::vec(prop::collection::vec(1i64..60, 1..5), 1..20),
        groups_a_step in 1u32..4,
        step in 1u32..40,
        most in prop::option::of(0u64..4),
        cancels: bool,
        most_restarts in 0u32..3,
    ) {
        let samples: Vec<Generated> =
            lengths.iter().zip(0..).flat_map(|(seconds, number)| group(number, i64::from(number) * 2, seconds)).collect();
        let stale = if cancels { Stale::CancelsGroup } else { Stale::WhenUsed };
        let policy = Policy {
            groups_a_step, step_seconds: f64::from(step), most_lag: most, stale, most_restarts, ..Policy::default()
        };
        let course = run(&samples, &policy);
        prop_assert_eq!(course.samples.iter().filter(|sample| sample.attempt == 0).count(), samples.len());
        for sample in &course.samples {
            prop_assert!(sample.end >= sample.start && sample.policy_version_end >= sample.policy_version_start);
            if sample.fate == Fate::Used {
                let lag = sample.trainer_version.unwrap() - sample.policy_version_start;
                prop_assert!(most.is_none_or(|most| lag <= most));
            }
            prop_assert!(cancels || sample.fate != Fate::Cancelled);
        }
        let used: usize = course.samples.iter().filter(|sample| sample.fate == Fate::Used).count();
        prop_assert_eq!(used as u32, course.steps.iter().map(|step| step.samples).sum::<u32>());
        for pair in course.steps.windows(2) {
            prop_assert!(pair[1].start >= pair[0].end && pair[1].version == pair[0].version + 1);
        }
    }
}
