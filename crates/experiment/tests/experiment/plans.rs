use firstcheck_experiment::{
    ledger::{Entry, Ledger},
    plan::{Cell, Errand, Plan, PlanError, Step, WarmUp, Why, warm_up},
};
use firstcheck_model::{
    evidence::RunEvidence,
    moment::Moment,
    recording::Recording,
    report::Verdict,
    request::{Fate, Request, Requests},
    run::{Arrivals, CacheState, Clock, ClockKind, Origin, Role, RunId, RunInfo, WorkloadInfo},
    unit::Seconds,
};
use std::collections::{BTreeMap, BTreeSet};

fn looking(pairs: u32, seed: u64, looks: &[u32]) -> Plan {
    Plan { looks: looks.to_vec(), ..Plan::of_pairs(pairs, seed) }
}

fn on_two_devices(pairs: u32, seed: u64) -> Plan {
    Plan { devices: vec!["a".into(), "b".into()], ..Plan::of_pairs(pairs, seed) }
}

#[test]
fn the_order_is_balanced_repeatable_and_depends_on_the_seed() {
    let first_sides = |seed| {
        let cells = Plan::of_pairs(8, seed).cells();
        cells.iter().filter(|c| c.order == 0).map(|c| c.role).collect::<Vec<_>>()
    };
    let orders: BTreeSet<String> = (0..20).map(|seed| format!("{:?}", first_sides(seed))).collect();
    assert!(orders.len() > 10, "20 seeds give {} orders", orders.len());
    for seed in 0..20 {
        let sides = first_sides(seed);
        assert_eq!(sides, first_sides(seed));
        assert_eq!(sides.iter().filter(|role| **role == Role::Base).count(), 4, "seed {seed}: {sides:?}");
    }
}

#[test]
fn the_order_is_balanced_up_to_each_look() {
    for seed in 0..20 {
        let cells = looking(16, seed, &[6, 8, 12, 16]).cells();
        for look in [6, 8, 12, 16] {
            let firsts = cells.iter().filter(|c| c.pair < look && c.order == 0 && c.role == Role::Base).count();
            assert_eq!(firsts as u32, look / 2, "seed {seed}, after {look} pairs");
        }
    }
}

#[test]
fn two_devices_are_swapped_and_all_four_ways_occur_equally_often() {
    for seed in 0..20 {
        let cells = on_two_devices(8, seed).cells();
        let mut ways: BTreeMap<(u8, Option<u8>), u32> = BTreeMap::new();
        for pair in cells.chunks(2) {
            assert_ne!(pair[0].device, pair[1].device, "base and candidate of a pair have a device each");
            let base = pair.iter().find(|c| c.role == Role::Base).unwrap();
            *ways.entry((base.order, base.device)).or_default() += 1;
        }
        assert_eq!(ways.into_values().collect::<Vec<_>>(), [2, 2, 2, 2], "seed {seed}");
    }
    assert!(Plan::of_pairs(4, 1).cells().iter().all(|cell| cell.device.is_none()));
}

#[test]
fn every_run_has_a_seed_of_its_own() {
    let cells = Plan::of_pairs(16, 3).cells();
    let seeds: BTreeSet<u64> = cells.iter().map(|c| c.seed).collect();
    assert_eq!((cells.len(), seeds.len()), (32, 32));
}

#[test]
fn a_plan_that_does_not_balance_is_refused() {
    assert_eq!(looking(16, 1, &[6, 8, 12, 16]).check(), Ok(()));
    assert_eq!(on_two_devices(8, 1).check(), Ok(()));
    assert!(matches!(Plan::of_pairs(7, 1).check(), Err(PlanError::Pairs { multiple: 2, .. })));
    assert!(matches!(Plan::of_pairs(0, 1).check(), Err(PlanError::Pairs { .. })));
    assert!(matches!(on_two_devices(6, 1).check(), Err(PlanError::Pairs { multiple: 4, .. })));
    let same = Plan { devices: vec!["a".into(), "a".into()], ..Plan::of_pairs(8, 1) };
    assert!(matches!(same.check(), Err(PlanError::Devices(_))));
    for looks in [&[8, 6, 16][..], &[6, 8], &[7, 16], &[0, 16], &[8, 8, 16]] {
        assert!(matches!(looking(16, 1, looks).check(), Err(PlanError::Looks { .. })), "{looks:?}");
    }
}

/// Takes steps until nothing is left to do, as a driver would; a look after `decides` pairs decides.
fn steps(plan: &Plan, ledger: &mut Ledger, decides: Option<u32>) -> (Vec<Step>, Why) {
    let mut steps = Vec::new();
    loop {
        let step = plan.next(ledger);
        steps.push(step);
        ledger.push(match step {
            Step::Start(errand) => Entry::Started { errand, process: None },
            Step::WarmUp => Entry::WarmedUp { warm_up: Seconds(30.0), bundle: "warm-up".into() },
            Step::Run(cell) => Entry::RunDone { cell, bundle: format!("{}-{}", cell.pair, cell.role.name()) },
            Step::Stop(errand) => Entry::Stopped { errand },
            Step::Look { pairs } => {
                Entry::Looked { pairs, verdict: Verdict::Inconclusive, decides: decides == Some(pairs) }
            }
            Step::Decided(why) => return (steps, why),
        });
    }
}

fn runs(steps: &[Step]) -> Vec<Cell> {
    let run = |step: &Step| if let Step::Run(cell) = step { Some(*cell) } else { None };
    steps.iter().filter_map(run).collect()
}

#[test]
fn every_run_lies_between_a_start_and_a_stop_of_its_own() {
    let plan = Plan { warm_up: WarmUp::Learnt, ..Plan::of_pairs(2, 1) };
    let (steps, why) = steps(&plan, &mut Ledger::default(), None);
    let mut expected = vec![Step::Start(Errand::WarmUp), Step::WarmUp, Step::Stop(Errand::WarmUp)];
    for cell in plan.cells() {
        expected.extend([Step::Start(Errand::Run(cell)), Step::Run(cell), Step::Stop(Errand::Run(cell))]);
    }
    expected.push(Step::Decided(Why::AllPairs));
    assert_eq!((steps, why), (expected, Why::AllPairs));
}

#[test]
fn looks_are_taken_in_time_and_a_deciding_one_ends_it() {
    let plan = looking(12, 3, &[4, 8, 12]);
    let (all, why) = steps(&plan, &mut Ledger::default(), None);
    let looks = all.iter().filter(|step| matches!(step, Step::Look { .. })).count();
    assert_eq!((looks, runs(&all).len(), why), (2, 24, Why::AllPairs), "the last look is the verdict");
    let mut ledger = Ledger::default();
    let (some, why) = steps(&plan, &mut ledger, Some(8));
    assert_eq!((runs(&some).len(), why), (16, Why::Look { pairs: 8 }));
    ledger.push(Entry::Resumed);
    assert_eq!(plan.next(&ledger), Step::Decided(Why::Look { pairs: 8 }), "and stays decided");
}

#[test]
fn a_run_that_was_lost_is_made_again_and_no_other() {
    let plan = looking(8, 5, &[4, 8]);
    let mut ledger = Ledger::default();
    steps(&plan, &mut ledger, Some(4));
    let lost = plan.cells()[3];
    ledger.push(Entry::Lost { cell: lost, why: "removed".into() });
    assert_eq!(ledger.bundle(&lost), None);
    let (again, why) = steps(&plan, &mut ledger, None);
    assert_eq!((runs(&again), why), (vec![lost], Why::Look { pairs: 4 }));
}

/// What an interruption does to a plan, at each of its steps: what stood is stopped first, nothing is run twice but what
/// was cut, and nothing is left out.
#[test]
fn an_interruption_at_any_step_costs_that_step_alone() {
    let plan = Plan { warm_up: WarmUp::Learnt, ..looking(4, 9, &[2, 4]) };
    let mut whole = Ledger::default();
    let (all, _) = steps(&plan, &mut whole, None);
    for cut in 0..whole.entries().len() {
        let mut ledger = Ledger::default();
        whole.entries()[..cut].iter().for_each(|entry| ledger.push(entry.clone()));
        let standing = ledger.standing().map(|standing| standing.errand);
        ledger.push(Entry::Resumed);
        let (rest, why) = steps(&plan, &mut ledger, None);
        if let Some(errand) = standing {
            assert_eq!(rest[0], Step::Stop(errand), "cut after {cut} entries");
        }
        let done = runs(&all[..cut]);
        let made: Vec<Cell> = done.iter().copied().chain(runs(&rest)).collect();
        assert_eq!((made, why), (plan.cells(), Why::AllPairs), "cut after {cut} entries");
    }
}

/// A run of requests that took so long each; in a closed loop of two streams where `closed`.
fn run(seconds: &[f64], closed: bool) -> RunEvidence {
    let arrivals = if closed { Arrivals::Closed { concurrency: 2 } } else { Arrivals::Open { rate: 1.0, cv: None } };
    let workload = WorkloadInfo {
        description: String::new(),
        arrivals,
        trace_hash: None,
        salt: None,
        streaming: None,
        warm_up: None,
        cache: CacheState::Cold,
    };
    let clock = Clock { started_unix_ns: None, kind: ClockKind::Virtual };
    let info = RunInfo::new(RunId("w".into()), "t", Origin::Simulated, clock, workload);
    let request = |seconds: &f64| {
        let mut request = Request::offered(Moment::at(0));
        request.done = Moment::from_seconds(*seconds);
        request.fate = Fate::Completed;
        request
    };
    let requests = Requests(seconds.iter().map(request).collect());
    Recording { info, requests, events: Vec::new(), signals: Vec::new(), spans: Vec::new() }.into_evidence("w")
}

#[test]
fn a_warm_up_is_thirty_seconds_or_three_medians_or_two_completions_a_stream() {
    let learnt = |seconds: &[f64], closed, cold| warm_up::learn(&run(seconds, closed), cold).map(|s| s.0);
    assert_eq!(learnt(&[1.0, 2.0, 3.0], false, true), Some(30.0), "the least");
    assert_eq!(learnt(&[1.0, 20.5, 900.0], false, true), Some(62.0), "three medians, in whole seconds");
    assert_eq!(learnt(&[1.0, 2.0, 3.5, 4.2, 9.0], true, false), Some(5.0), "the fourth completion of two streams");
    assert_eq!(learnt(&[1.0, 2.0, 3.5, 4.2, 9.0], true, true), Some(35.0), "and a cold engine");
    assert_eq!(learnt(&[3.0], true, false), Some(12.0), "at the pace of those there are");
    assert_eq!(learnt(&[], false, true), None, "nothing was answered");
}
