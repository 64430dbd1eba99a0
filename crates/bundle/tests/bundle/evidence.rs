//! Evidence folded from disk is what the same rows give in memory.

use crate::run;
use firstcheck_bundle::{Bundle, write_recording};
use firstcheck_model::{
    moment::{Moment, Window},
    recording::Recording,
    request::Requests,
    run::{Detail, RunInfo},
};

fn recording(detail: Detail) -> Recording {
    let second = |s: i64| Moment::at(s * 1_000_000_000);
    let window = Some(Window { start: second(3), end: second(40) });
    Recording {
        info: RunInfo { window, detail, ..run::info() },
        requests: Requests((0..50).map(run::done).collect()),
        events: (0..50).flat_map(run::events).collect(),
        signals: (0..1).flat_map(run::scrape).collect(),
        spans: (0..50).map(run::span).collect(),
    }
}

#[test]
fn evidence_from_disk_equals_evidence_from_memory() {
    for detail in [Detail::Events, Detail::Requests] {
        let parent = tempfile::tempdir().unwrap();
        write_recording(parent.path(), &recording(detail)).unwrap();
        let evidence = Bundle::open(parent.path()).unwrap().evidence("a run").unwrap();
        assert_eq!(evidence, recording(detail).into_evidence("a run"));
        assert_eq!(evidence.streams.is_some(), detail == Detail::Events);
    }
}

#[test]
fn evidence_from_a_journal_equals_evidence_from_parquet() {
    let parent = tempfile::tempdir().unwrap();
    let writer = run::unfinished(parent.path(), 30);
    let before = Bundle::open(parent.path()).unwrap().evidence("x").unwrap();
    writer.abort("still running or killed").unwrap();
    let after = Bundle::open(parent.path()).unwrap().evidence("x").unwrap();
    assert_eq!(before, after);
    assert_eq!(before.streams.unwrap().total_events, 29 * 4);
}
