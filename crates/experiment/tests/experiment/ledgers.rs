use firstcheck_experiment::{
    Error,
    ledger::{Begun, Entry, LedgerFile},
    plan::{Errand, Plan},
};
use std::{fs::OpenOptions, io::Write, path::Path};

fn begun() -> Begun {
    Begun::by(Plan::of_pairs(2, 5))
}

fn entry(i: usize) -> Entry {
    Entry::RunDone { cell: begun().plan.cells()[i], bundle: format!("run-{i}") }
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn a_ledger_that_was_cut_reads_up_to_its_last_whole_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut ledger = LedgerFile::open(&path, begun()).unwrap();
    ledger.append(entry(0)).unwrap();
    drop(ledger);
    append(&path, b"{\"event\":\"run_do");
    let mut again = LedgerFile::open(&path, begun()).unwrap();
    assert_eq!(again.ledger().entries(), [Entry::Begun(begun()), entry(0), Entry::Resumed]);
    again.append(entry(1)).unwrap();
    drop(again);
    let third = LedgerFile::open(&path, begun()).unwrap();
    assert_eq!(third.ledger().entries().len(), 5, "what follows the cut is whole");
}

#[test]
fn a_damaged_line_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    LedgerFile::open(&path, begun()).unwrap();
    append(&path, b"not json\n");
    let error = LedgerFile::open(&path, begun()).unwrap_err();
    assert!(error.to_string().contains("ledger.jsonl:2"), "{error}");
}

#[test]
fn another_experiment_is_refused_and_what_differs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut ours = begun();
    ours.subject.insert("candidate".into(), "http://127.0.0.1:8001".into());
    LedgerFile::open(&path, ours.clone()).unwrap();
    assert_eq!(LedgerFile::peek(&path).unwrap(), Some(ours.clone()));
    let mut other = ours;
    other.plan.pairs = 4;
    other.subject.insert("candidate".into(), "http://127.0.0.1:8002".into());
    let error = LedgerFile::open(&path, other).unwrap_err().to_string();
    for part in ["pairs: 2 there, 4 asked", "candidate: http://127.0.0.1:8001 there, http://127.0.0.1:8002 asked"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_ledger_belongs_to_one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let first = LedgerFile::open(&path, begun()).unwrap();
    assert!(matches!(LedgerFile::open(&path, begun()), Err(Error::InUse { .. })));
    drop(first);
    assert!(LedgerFile::open(&path, begun()).is_ok());
    assert_eq!(LedgerFile::peek(&folder.path().join("none")).unwrap(), None);
}

#[test]
fn what_stands_is_what_was_started_last_and_not_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let errand = Errand::Run(begun().plan.cells()[0]);
    let mut ledger = LedgerFile::open(&path, begun()).unwrap();
    assert_eq!(ledger.ledger().standing(), None);
    ledger.append(Entry::Started { errand, process: None }).unwrap();
    assert!(ledger.ledger().standing().is_some_and(|s| s.errand == errand && !s.abandoned));
    drop(ledger);
    let mut ledger = LedgerFile::open(&path, begun()).unwrap();
    assert!(ledger.ledger().standing().is_some_and(|s| s.abandoned), "its process may be there or not");
    ledger.append(Entry::Stopped { errand }).unwrap();
    assert_eq!(ledger.ledger().standing(), None);
}
