//! Folders as engineers leave them.

use crate::fixture::{self, folder, page};
use firstcheck_ingest::{Error, gather, read_recordings, read_runs};
use firstcheck_model::{
    evidence::RunEvidence,
    fingerprint::field,
    run::Detail,
    signal::{Part, Signal},
};

fn delta(run: &RunEvidence, signal: Signal) -> Option<f64> {
    let series = run.series(signal, Part::Value).next()?;
    series.delta(run.info.window).ok().map(|d| d.value)
}

#[test]
fn pages_before_and_after_become_signals_whatever_their_names() {
    let (early, late) = (page(10, 1, 2), page(26, 4, 5));
    let dir = folder(&[
        ("result.json", fixture::VLLM),
        ("z_first.txt", &early),
        ("a_second.txt", &late),
        ("version.json", r#"{"version":"0.77"}"#),
        ("models.json", r#"{"object":"list","data":[{"id":"served","max_model_len":512}]}"#),
        ("server.log", "INFO started\n"),
        ("meta.json", r#"{"name":"notes"}"#),
    ]);
    let run = read_runs(dir.path()).unwrap().remove(0);
    assert_eq!(delta(&run, Signal::Preemptions), Some(3.0));
    assert_eq!(delta(&run, Signal::GenerationTokens), Some(16.0));
    let fingerprint = &run.info.fingerprint;
    assert_eq!(fingerprint.get(field::ENGINE_VERSION), Some("0.77"));
    assert_eq!(fingerprint.get(field::MODEL), Some("served"));
    assert_eq!(fingerprint.number(field::KV_BLOCKS), Some(128.0));
    assert_eq!(fingerprint.field(field::KV_BLOCKS).unwrap().stated.from, "a_second.txt");
    assert!(run.info.warnings.iter().any(|w| w.starts_with("3 requests finished")), "{:?}", run.info.warnings);

    let alone = read_runs(&dir.path().join("result.json")).unwrap().remove(0);
    assert!(alone.signals.is_empty() && alone.info.fingerprint.get(field::ENGINE_VERSION).is_none());
}

#[test]
fn of_several_pages_the_pair_that_just_covers_the_run_is_taken() {
    let pages = [page(0, 0, 0), page(4, 1, 1), page(10, 3, 4), page(90, 9, 9)];
    let dir = folder(&[
        ("result.json", fixture::VLLM),
        ("1.txt", &pages[0]),
        ("2.txt", &pages[1]),
        ("3.txt", &pages[2]),
        ("4.txt", &pages[3]),
    ]);
    let run = read_runs(dir.path()).unwrap().remove(0);
    assert_eq!(delta(&run, Signal::Preemptions), Some(3.0), "six tokens lie between pages 2 and 3");
}

#[test]
fn pages_that_do_not_bracket_the_run_give_no_signals_and_say_so() {
    let other_process = page(50, 9, 9).replace("1.5e+09", "1.6e+09");
    let cases = [
        vec![page(10, 1, 0)],
        vec![page(10, 1, 0), page(10, 1, 0)],
        vec![page(10, 1, 0), page(12, 2, 0)],
        vec![page(10, 1, 0), other_process],
    ];
    for pages in cases {
        let names: Vec<String> = (0..pages.len()).map(|n| format!("{n}.txt")).collect();
        let mut files = vec![("result.json", fixture::VLLM)];
        files.extend(names.iter().map(String::as_str).zip(pages.iter().map(String::as_str)));
        let run = read_runs(folder(&files).path()).unwrap().remove(0);
        assert!(run.signals.is_empty());
        assert!(run.info.warnings.iter().any(|w| w.contains("no signals")), "{:?}", run.info.warnings);
    }
}

#[test]
fn unreadable_lines_of_a_page_are_returned_with_their_place() {
    let bad = format!("{}broken line here\n", page(30, 4, 1));
    let dir = folder(&[("result.json", fixture::VLLM), ("a.txt", &page(1, 0, 0)), ("b.txt", &bad)]);
    let gathered = gather(&[dir.path().to_path_buf()]);
    assert_eq!(gathered.unread.len(), 1);
    assert!(gathered.unread[0].path.ends_with("b.txt") && gathered.unread[0].line.is_some());
    assert!(!gathered.runs[0].signals.is_empty());
}

#[test]
fn aiperf_records_and_summary_are_one_run() {
    let dir = folder(&[("records.jsonl", fixture::AIPERF), ("summary.json", fixture::AIPERF_SUMMARY)]);
    let runs = read_runs(dir.path()).unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].info.tool.as_str(), &runs[0].info.detail), ("aiperf 9.9", &Detail::Events));
    assert_eq!(runs[0].requests.len(), 3);
}

#[test]
fn stages_stand_for_the_whole_and_a_repeated_run_counts_once() {
    let dir = folder(&[("whole.json", fixture::INFERENCE_PERF_WHOLE), ("stage.json", fixture::INFERENCE_PERF_STAGE)]);
    let runs = read_runs(dir.path()).unwrap();
    assert_eq!(runs.len(), 1);
    assert!(runs[0].label.ends_with("stage.json"));

    let all = format!("[{},{}]", fixture::VLLM, fixture::VLLM_SUMMARY);
    let dir = folder(&[("all.json", &all), ("run0.json", fixture::VLLM)]);
    let runs = read_runs(dir.path()).unwrap();
    assert_eq!(runs.len(), 2);
    assert!(runs[0].info.warnings.iter().any(|w| w.contains("also in")));
}

#[test]
fn folders_below_are_looked_into_only_without_results_of_its_own() {
    let below = folder(&[("a/run/result.json", fixture::VLLM), ("b/result.json", fixture::VLLM_SUMMARY)]);
    assert_eq!(read_runs(below.path()).unwrap().len(), 2);
    let own = folder(&[("result.json", fixture::VLLM), ("b/result.json", fixture::VLLM_SUMMARY)]);
    assert_eq!(read_runs(own.path()).unwrap().len(), 1);
}

#[test]
fn a_bundle_is_read_as_it_is_and_its_raw_names_get_their_meaning() {
    let source = folder(&[("result.json", fixture::VLLM), ("a.txt", &page(1, 0, 0)), ("b.txt", &page(30, 4, 1))]);
    let recording = read_recordings(source.path()).unwrap().remove(0);
    let target = folder(&[]);
    let bundle = target.path().join("run");
    firstcheck_bundle::write_recording(&bundle, &recording).unwrap();
    assert_eq!(read_recordings(&bundle).unwrap(), std::slice::from_ref(&recording));
    let run = read_runs(&bundle).unwrap().remove(0);
    assert_eq!(delta(&run, Signal::Preemptions), Some(1.0));
    assert_eq!(run.streams, recording.into_evidence("").streams);
    assert_eq!(read_runs(target.path()).unwrap().len(), 1, "a folder of bundles");
}

#[test]
fn what_holds_no_run_is_an_error_that_says_what_to_give() {
    let dir = folder(&[("page.txt", &page(1, 1, 1)), ("notes.txt", "hello")]);
    assert!(matches!(read_runs(dir.path()), Err(Error::NothingFound { .. })));
    assert!(matches!(read_runs(&dir.path().join("page.txt")), Err(Error::NotARun { .. })));
    assert!(matches!(read_runs(&dir.path().join("notes.txt")), Err(Error::Unknown { .. })));
    let cut = folder(&[("result.json", &fixture::VLLM[..200])]);
    assert!(matches!(read_runs(cut.path()), Err(Error::Malformed { .. })));
    let gathered = gather(&[dir.path().to_path_buf(), cut.path().to_path_buf()]);
    assert_eq!((gathered.runs.len(), gathered.unread.len()), (0, 2));
}
