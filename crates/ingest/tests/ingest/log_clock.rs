//! Times of a log's lines: collectors, engines, and both.

use firstcheck_ingest::log::LogReader;
use firstcheck_model::moment::Moment;

/// Seconds of each line on the log's clock, and Unix seconds of its moment 0.
fn times(lines: &[&str]) -> (Vec<Option<i64>>, Option<i64>) {
    let mut reader = LogReader::new("server.log");
    let mut seconds = Vec::new();
    for (number, line) in (1..).zip(lines) {
        reader.line(number, line);
        seconds.push(reader.latest().and_then(Moment::get).map(|ns| ns / 1_000_000_000));
    }
    (seconds, reader.started_unix_ns().map(|ns| ns / 1_000_000_000))
}

/// 2026-01-02T03:04:05Z
const UNIX: i64 = 1_767_323_045;

#[test]
fn a_collector_that_comes_later_goes_on_where_the_engine_was() {
    let (seconds, start) = times(&[
        "INFO 01-02 04:04:05 [a.py:1] in a zone an hour ahead",
        "INFO 01-02 04:04:15 [a.py:1] ten seconds later",
        "2026-01-02T03:04:25Z INFO 01-02 04:04:25 [a.py:1] dated by both from here",
        "2026-01-02T03:04:30Z a line that only the collector dates",
        "INFO 01-02 04:04:45 [a.py:1] and one that it does not",
        "no date at all",
    ]);
    assert_eq!(seconds, [0, 10, 20, 25, 40, 40].map(Some));
    assert_eq!(start, Some(UNIX));
}

#[test]
fn a_collector_that_comes_later_without_an_engines_time_goes_on_from_the_last_moment() {
    let (seconds, start) = times(&[
        "INFO 01-02 04:04:05 [a.py:1] a",
        "INFO 01-02 04:04:15 [a.py:1] b",
        "2026-01-02T03:04:20Z c",
        "2026-01-02T03:04:25Z d",
    ]);
    assert_eq!(seconds, [0, 10, 10, 15].map(Some));
    assert_eq!(start, Some(UNIX + 5));
}

#[test]
fn an_engine_that_goes_on_after_its_collector_keeps_the_collectors_clock() {
    let (seconds, start) = times(&[
        "2026-01-02T03:04:05Z banner",
        "2026-01-02T03:04:15Z INFO 01-02 04:04:15 [a.py:1] a",
        "INFO 01-02 04:04:35 [a.py:1] b",
    ]);
    assert_eq!(seconds, [0, 10, 30].map(Some));
    assert_eq!(start, Some(UNIX));
}

#[test]
fn lines_with_and_without_a_year_share_one_clock() {
    let vllm_first = [
        "INFO 03-02 04:04:05 [a.py:1] vLLM states no year",
        "(EngineCore pid=7) [2028-03-02 04:04:15,500] LMCache INFO: in a leap year",
        "INFO 03-02 04:04:25 [a.py:1] b",
    ];
    let lmcache_first = [
        "[2028-12-31 23:59:55,000] LMCache INFO: in a leap year",
        "INFO 12-31 23:59:58 [a.py:1] vLLM states no year",
        "INFO 01-01 00:00:05 [a.py:1] nor the next one",
        "[2029-01-01 00:00:15,000] LMCache INFO: c",
    ];
    assert_eq!(times(&vllm_first).0, [0, 10, 20].map(Some));
    assert_eq!(times(&lmcache_first).0, [0, 3, 10, 20].map(Some));
}

#[test]
fn a_date_that_does_not_exist_dates_nothing() {
    let (seconds, _) = times(&["[2026-02-30 00:00:00] a", "[2026-03-01 00:00:00] b", "[2026-03-01 00:00:07] c"]);
    assert_eq!(seconds, [None, Some(0), Some(7)]);
}
