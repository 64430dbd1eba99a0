//! The matrix of faults and checks: what it counts, on a few runs.

use firstcheck_experiment::confusion::{Against, Change, Dose, Floor, Group, Judged, Load, Stage, groups, rows};
use firstcheck_sim::{
    EngineKind,
    fault::{FaultSpec, Severity, catalogue, find},
};

fn spec(slug: &str) -> &'static FaultSpec {
    find(slug).unwrap()
}

#[test]
fn a_pool_that_shrank_is_above_its_floor_and_found_where_the_pool_was_full() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage { engine: EngineKind::Vllm, against: Against::Healthy, folder: folder.path().into() };
    let faults = [spec("kv-pool-shrank")];
    let mut all = Vec::new();
    for group in groups(&faults, &Load::ALL, 1) {
        all.extend(group.play(&stage, &[Severity::Severe], Dose::Declared, &|_| {}).unwrap());
    }
    let above = |load: &str| all.iter().find(|run| run.fault.is_some() && run.load == load).unwrap().above;
    assert_eq!((above("roomy"), above("full")), (Some(false), Some(true)));
    let (rows, calm) = rows(&all);
    let row = &rows[0];
    assert_eq!((row.runs, row.above, row.found, row.right, row.found_below), (2, 1, 1, 1, 0));
    assert_eq!(calm["plain"].runs, 4);
    assert!(calm["plain"].wrong.is_empty(), "{calm:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "bundles stay behind");
}

/// What is said of one fault under one load.
fn played(slug: &str, load: &str, severities: &[Severity], dose: Dose, seed: u64) -> Vec<Judged> {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage { engine: EngineKind::Vllm, against: Against::Healthy, folder: folder.path().into() };
    let load = Load::ALL.into_iter().find(|known| known.name == load).unwrap();
    let group = Group { load, seed, faults: vec![spec(slug)] };
    let all = group.play(&stage, severities, dose, &|_| {}).unwrap();
    all.into_iter().filter(|run| run.fault.is_some()).collect()
}

#[test]
fn steps_are_counted_by_streams_where_a_run_has_too_many_gaps_to_list() {
    let runs = played("step-pauses", "full", &[Severity::Moderate], Dose::Declared, 1);
    let own = runs[0].own().unwrap();
    assert!(own.names("every-n-steps") && !own.names("host-agent"), "{own}: {:?}", own.facts);
}

#[test]
fn a_long_prompt_that_fits_at_once_blocks_no_admission() {
    let roomy = played("admission-blocked", "roomy", &[Severity::Mild], Dose::Declared, 1);
    let full = played("admission-blocked", "full", &[Severity::Severe], Dose::Declared, 2);
    assert_eq!((roomy[0].above, full[0].above), (Some(false), Some(true)));
    let (of_roomy, of_full) = (roomy[0].own().unwrap(), full[0].own().unwrap());
    assert!(!of_roomy.names("admission-rule") && of_full.names("admission-rule"), "{of_roomy}; {of_full}");
}

/// Long prompts hold others up whether they fit the pool or not: below the floor of the one cause the symptom may be there
/// by another, and is then no fault of the check unless it names that cause.
#[test]
fn a_symptom_that_is_there_by_another_cause_is_not_found_below_the_floor() {
    let run = &played("admission-blocked", "roomy", &[Severity::Moderate], Dose::Declared, 1)[0];
    let own = run.own().unwrap();
    assert!(run.above == Some(false) && own.is_present() && !own.names("admission-rule"), "{run:?}");
    assert!(!run.is_found_below() && run.is_right());
}

#[test]
fn a_storm_of_retries_outlasts_its_burst_and_is_named() {
    let run = &played("retry-storm", "full", &[Severity::Severe], Dose::Declared, 1)[0];
    assert!(run.above == Some(true) && run.own().unwrap().names("client-retries"), "{run:?}");
}

#[test]
fn a_stutter_of_few_streams_is_found_beside_a_base_and_is_no_queue() {
    let runs = played("whole-prefill", "full", &[Severity::Moderate], Dose::Declared, 1);
    let queue = runs[0].said.iter().find(|(said, _)| said.code == "S02").unwrap();
    assert!(!queue.0.is_present(), "{}: {:?}", queue.0, queue.0.facts);
    let drawn = played("whole-prefill", "roomy", &Severity::ALL, Dose::Random(7), 2);
    let above: Vec<&Judged> = drawn.iter().filter(|run| run.above == Some(true)).collect();
    assert!(
        above.len() >= 2 && above.iter().all(|run| run.own().unwrap().names("prefill-between-decodes")),
        "{above:?}"
    );
}

#[test]
fn drawn_parameters_differ_by_run_and_stay_near_what_is_declared() {
    let dose = Dose::Random(7);
    for spec in catalogue() {
        for severity in Severity::ALL {
            let one = dose.fault(spec, severity, 1);
            assert_eq!(one.to_string(), dose.fault(spec, severity, 1).to_string());
            let fixed = spec.params.iter().all(|param| param.by_severity[0] == param.by_severity[2]);
            let differs = (2..6).any(|seed| dose.fault(spec, severity, seed).to_string() != one.to_string());
            assert!(fixed || differs, "{one}");
            for ((name, value), param) in one.values.iter().zip(spec.params) {
                let [least, most] = param.range;
                let greatest = param.by_severity.into_iter().fold(0.0, f64::max);
                assert!((least..=most).contains(&value) && value <= greatest * 1.5, "{name} of {one}");
            }
        }
    }
}

#[test]
fn every_fault_of_the_first_nineteen_symptoms_has_a_floor() {
    for spec in catalogue().filter(|spec| spec.symptom <= "S19") {
        assert!(Floor::of(spec).is_some(), "{spec:?}");
    }
    assert_eq!(Floor::of(spec("parser-holds")).unwrap().metric, "median TTFT, s");
}

#[test]
fn a_change_is_reached_in_its_own_direction() {
    let cases = [
        (Change::Times(1.5, 0.1), 0.1, 0.19, false),
        (Change::Times(1.5, 0.1), 0.3, 0.45, true),
        (Change::Rises(0.1), 0.3, 0.2, false),
        (Change::Falls(0.1), 0.5, 0.25, true),
        (Change::Loses(0.1), 100.0, 91.0, false),
        (Change::Times(2.0, 0.0), 1.0, f64::INFINITY, true),
        (Change::Reaches(1.2), 0.3, 1.2, true),
        (Change::Reaches(1.2), 1.3, 1.4, false),
        (Change::Reaches(1.2), 1.3, 2.0, true),
    ];
    for (change, before, now, reached) in cases {
        assert_eq!(change.is_reached(before, now), reached, "{change} from {before} to {now}");
    }
}
