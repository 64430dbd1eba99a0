//! What a writer accepts, and what it does with rows that are not as they should be.

use crate::run;
use firstcheck_bundle::{Bundle, Error, Rows, Writer};
use firstcheck_model::{
    event::Event,
    moment::{Moment, Window},
    request::Fate,
    run::{RunInfo, RunState},
    signal::Series,
    trace_span::{AttributeValue, TraceSpan},
};
use std::fs;

#[test]
fn a_run_is_never_overwritten() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("something"), "").unwrap();
    assert!(matches!(Writer::create(parent.path(), &run::info()), Err(Error::NotEmpty { .. })));
    assert!(matches!(Bundle::open(parent.path()), Err(Error::NotABundle { .. })));
    let empty = parent.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(!Bundle::is_bundle(&empty));
    Writer::create(&empty, &run::info()).unwrap();
    assert!(Bundle::is_bundle(&empty));
}

#[test]
fn a_number_that_json_cannot_hold_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    for load in [f64::INFINITY, f64::NAN] {
        let info = RunInfo { load: Some(load), ..run::info() };
        let error = Writer::create(&parent.path().join(load.to_string()), &info).unwrap_err();
        assert!(matches!(error, Error::NotStorable { .. }), "{error}");
    }
}

#[test]
fn what_became_known_during_a_run_survives_a_kill() {
    let parent = tempfile::tempdir().unwrap();
    let mut writer = run::unfinished(parent.path(), 3);
    let mut info = run::info();
    info.window = Some(Window { start: Moment::at(5), end: Moment::at(50) });
    info.fingerprint.set("engine", "vllm", "/version");
    writer.update(&info).unwrap();
    run::append(&mut writer, 3).unwrap();
    drop(writer);
    let bundle = Bundle::open(parent.path()).unwrap();
    assert_eq!((bundle.info().window, &bundle.info().fingerprint), (info.window, &info.fingerprint));
    assert!(matches!(bundle.info().state, RunState::Interrupted { .. }));
    assert_eq!(bundle.requests().unwrap(), run::requests_after(4));
}

#[test]
fn an_append_that_cannot_be_stored_leaves_no_trace() {
    let parent = tempfile::tempdir().unwrap();
    let mut writer = run::unfinished(parent.path(), 2);
    let ragged = Series { value: vec![], ..run::scrape(0).remove(0) };
    let rows = Rows { requests: &[(2, run::done(2))], signals: &[ragged], ..Rows::default() };
    let error = writer.append(rows).unwrap_err().to_string();
    assert!(error.contains("it has 1 times and 0 values"), "{error}");
    run::append(&mut writer, 2).unwrap();
    drop(writer);
    assert_eq!(Bundle::open(parent.path()).unwrap().requests().unwrap(), run::requests_after(3));
}

#[test]
fn a_row_that_was_never_written_is_kept_as_never_sent_and_counted() {
    let parent = tempfile::tempdir().unwrap();
    let mut writer = run::unfinished(parent.path(), 0);
    writer.append(Rows { requests: &[(3, run::done(3)), (1, run::done(1))], ..Rows::default() }).unwrap();
    let warning = "2 of 4 requests were not recorded".to_owned();
    let salvaged = Bundle::open(parent.path()).unwrap();
    assert_eq!(salvaged.evidence("x").unwrap().info.warnings, std::slice::from_ref(&warning));
    writer.finish(run::info()).unwrap();
    let bundle = Bundle::open(parent.path()).unwrap();
    assert_eq!(bundle.info().warnings, [warning]);
    let fates: Vec<_> = bundle.requests().unwrap().0.iter().map(|r| r.fate).collect();
    assert_eq!(fates, [Fate::NeverSent, Fate::Completed, Fate::NeverSent, Fate::Completed]);
}

#[test]
fn a_row_number_gone_wrong_does_not_fill_the_memory() {
    let parent = tempfile::tempdir().unwrap();
    let mut writer = run::unfinished(parent.path(), 0);
    writer.append(Rows { requests: &[(u32::MAX, run::done(3))], ..Rows::default() }).unwrap();
    assert!(matches!(Bundle::open(parent.path()).unwrap().requests(), Err(Error::Malformed { .. })));
}

#[test]
fn events_of_no_request_are_counted() {
    let parent = tempfile::tempdir().unwrap();
    let mut writer = run::unfinished(parent.path(), 0);
    let stray = Event { request: 9, since_sent_ns: 1, tokens: Some(1), kernel_ns: None };
    writer.append(Rows { requests: &[(0, run::done(0))], events: &[stray], ..Rows::default() }).unwrap();
    writer.finish(run::info()).unwrap();
    let evidence = Bundle::open(parent.path()).unwrap().evidence("x").unwrap();
    assert_eq!(evidence.info.warnings, ["1 events belong to no request and were ignored"]);
}

#[test]
fn exported_spans_survive_a_kill_and_stand_in_a_table_of_their_own() {
    let parent = tempfile::tempdir().unwrap();
    let writer = run::unfinished(parent.path(), 5);
    let expected: Vec<TraceSpan> = (0..4).map(run::trace_span).collect();
    assert_eq!(Bundle::open(parent.path()).unwrap().traces().unwrap(), expected);
    writer.finish(run::info()).unwrap();
    assert!(parent.path().join("traces.parquet").is_file());
    assert_eq!(Bundle::open(parent.path()).unwrap().traces().unwrap(), expected);
}

#[test]
fn a_number_of_a_span_that_json_cannot_hold_is_kept_as_text() {
    let parent = tempfile::tempdir().unwrap();
    let mut writer = run::unfinished(parent.path(), 0);
    let mut span = run::trace_span(0);
    span.attributes.0 = vec![("x".into(), AttributeValue::Float(f64::INFINITY))];
    writer.append(Rows { traces: &[span], ..Rows::default() }).unwrap();
    let read = Bundle::open(parent.path()).unwrap().traces().unwrap();
    assert_eq!(read[0].attributes.text("x"), Some("inf"));
}
