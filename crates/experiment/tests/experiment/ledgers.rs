use firstcheck_experiment::{
    Error,
    drive::drive_pairs,
    event::Event,
    ledger::{Entry, LedgerFile},
    plan::pairs::PairPlan,
    simulated::SimulatedRuns,
};
use firstcheck_model::{slo::Slo, unit::Seconds};
use firstcheck_sim::EngineConfig;
use firstcheck_workload::demo::mixed;
use std::{fs::OpenOptions, io::Write, path::Path};

const PLAN: PairPlan = PairPlan { pairs: 2, seed: 5 };

fn entry(plan: PairPlan, i: usize) -> Entry {
    Entry::RunDone { cell: plan.cells()[i], bundle: format!("run-{i}") }
}

#[test]
fn a_ledger_that_was_cut_reads_up_to_its_last_whole_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut ledger = LedgerFile::open(&path, PLAN).unwrap();
    ledger.append(entry(PLAN, 0)).unwrap();
    drop(ledger);
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"event\":\"run_do").unwrap();
    let mut again = LedgerFile::open(&path, PLAN).unwrap();
    assert_eq!(again.ledger().entries().len(), 2);
    again.append(entry(PLAN, 1)).unwrap();
    assert_eq!(LedgerFile::open(&path, PLAN).unwrap().ledger().entries().len(), 3, "what follows the cut is whole");
}

#[test]
fn a_damaged_line_is_named_and_another_plan_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    LedgerFile::open(&path, PLAN).unwrap();
    let other = PairPlan { pairs: 3, ..PLAN };
    assert!(matches!(LedgerFile::open(&path, other), Err(Error::OtherPlan { .. })));
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"not json\n").unwrap();
    let error = LedgerFile::open(&path, PLAN).unwrap_err();
    assert!(error.to_string().contains("ledger.jsonl:2"), "{error}");
}

#[test]
fn an_experiment_goes_on_where_it_was_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let trace = mixed(40, 20.0, 1).unwrap();
    let slo = Slo { ttft: Some(Seconds(1.0)), ..Slo::default() };
    let simulated = SimulatedRuns { experiment: "resume", trace: &trace, warm_up: Seconds(0.0), slo };
    let engine = EngineConfig::default();
    let mut calls = 0;
    let drive = |stop_after: usize, calls: &mut usize| {
        let mut run = |cell, path: &Path| {
            if *calls == stop_after {
                return Err(Error::Runtime(std::io::Error::other("stopped here")));
            }
            *calls += 1;
            simulated.run(&engine, cell, path)
        };
        let mut events = Vec::new();
        let runs = drive_pairs(PLAN, folder.path(), &mut run, &mut |_, _| None, &mut |event| events.push(event));
        (runs, events)
    };
    let (stopped, events) = drive(3, &mut calls);
    assert!(stopped.is_err());
    assert_eq!(events.iter().filter(|e| matches!(e, Event::RunDone { .. })).count(), 3);
    let (resumed, _) = drive(usize::MAX, &mut calls);
    let resumed = resumed.unwrap();
    assert_eq!(calls, 4, "three runs were read back, one was run");
    assert_eq!((resumed.base.len(), resumed.candidate.len(), resumed.bundles.len()), (2, 2, 4));
    assert!(resumed.base.iter().chain(&resumed.candidate).all(|run| run.requests.len() == 40));
}
