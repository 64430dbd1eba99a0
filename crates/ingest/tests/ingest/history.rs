//! Metrics pages with their times, one after the other in one stream.

use crate::{
    collect::reasons,
    observed::{growth, only, read, read_within},
};
use firstcheck_ingest::{Collected, Limits};
use firstcheck_model::{
    fingerprint::field,
    run::{ClockKind, Origin},
    signal::{Part, Signal},
};
use std::fmt::Write as _;

/// A page with a counter of preemptions at `value`, of a process that started at `start`.
fn page(value: f64, start: u32) -> String {
    format!(
        "# HELP process_start_time_seconds Start.\n# TYPE process_start_time_seconds gauge\n\
         process_start_time_seconds {start}.5\n# TYPE vllm:num_preemptions_total counter\n\
         vllm:num_preemptions_total{{engine=\"0\"}} {value:?}\n# TYPE vllm:num_requests_running gauge\n\
         vllm:num_requests_running{{engine=\"0\"}} 3.0\n# TYPE something_else gauge\nsomething_else{{a=\"b\"}} 1.0\n"
    )
}

fn pages(values: &[f64], mark: impl Fn(usize) -> String) -> String {
    values.iter().enumerate().map(|(n, value)| format!("{}{}", mark(n), page(*value, 1000))).collect()
}

#[test]
fn times_between_pages_place_them() {
    let marks: [fn(usize) -> String; 4] = [
        |n| format!("{}\n", 1_700_000_000 + 5 * n),
        |n| format!("# {}\n", 1_700_000_000_000_u64 + 5000 * n as u64),
        |n| format!("=== 2023-11-14T22:13:{:02}Z ===\n", 20 + 5 * n),
        |n| format!("Tue Nov 14 22:13:{:02} UTC 2023\n", 20 + 5 * n),
    ];
    for mark in marks {
        let text = pages(&[1.0, 2.0, 7.0], mark);
        let collected = read(&text);
        assert_eq!(collected.unread, [], "{text}");
        let run = only(&collected);
        assert_eq!(run.info.origin, Origin::Observed);
        assert_eq!(run.info.clock.started_unix_ns, Some(1_700_000_000_000_000_000));
        assert_eq!(run.info.window.unwrap().length().unwrap().0, 10.0);
        assert_eq!(growth(run, Signal::Preemptions), 6.0);
        let row = &collected.read[0];
        assert_eq!((row.rows, row.unit.as_str(), row.length_s), (12, "samples", Some(10.0)));
        assert_eq!((row.engine.as_deref(), &row.replicas[..]), (Some("vllm"), &["engine=0".to_owned()][..]));
        let unknown: Vec<&str> = collected.not_understood.iter().map(|one| one.kind.as_str()).collect();
        assert_eq!(unknown, ["something_else"]);
    }
}

#[test]
fn pages_without_times_have_an_order_and_no_rates() {
    for text in [
        pages(&[1.0, 4.0], |_| String::new()),
        pages(&[1.0, 4.0], |n| if n == 0 { String::new() } else { "# EOF\n".into() }),
    ] {
        let collected = read(&text);
        let run = only(&collected);
        assert_eq!((run.info.clock.kind, run.info.window), (ClockKind::Order, None));
        assert_eq!(growth(run, Signal::Preemptions), 3.0);
        assert!(run.info.warnings[0].contains("rates are not"), "{:?}", run.info.warnings);
    }
}

#[test]
fn samples_with_times_of_their_own_place_themselves() {
    // OpenMetrics for backfilling: series by series, in seconds.
    let mut text = String::from("# TYPE vllm:num_preemptions counter\n");
    for n in 0..4 {
        let _ = writeln!(
            text,
            "vllm:num_preemptions_total{{pod=\"a\"}} {n} {}.5 # {{trace_id=\"x\"}} 1.0",
            1_700_000_000 + n
        );
    }
    text += "# TYPE vllm:num_requests_running gauge\n";
    for n in 0..4 {
        let _ = writeln!(text, "vllm:num_requests_running{{pod=\"a\"}} {n} {}.5", 1_700_000_000 + n);
    }
    text += "# EOF\n";
    let collected = read(&text);
    assert_eq!(collected.unread, []);
    let run = only(&collected);
    assert_eq!(run.info.window.unwrap().length().unwrap().0, 3.0);
    assert_eq!(growth(run, Signal::Preemptions), 3.0);
    assert_eq!(run.series(Signal::Running, Part::Value).next().unwrap().value, [0.0, 1.0, 2.0, 3.0]);
    // `promtool tsdb dump`, in milliseconds.
    let dump = "{__name__=\"vllm:num_requests_running\", pod=\"a\"} 1 1700000000000\n{__name__=\"vllm:num_requests_running\", pod=\"a\"} 2 1700000001000\n";
    let collected = read(dump);
    assert_eq!(
        only(&collected).series(Signal::Running, Part::Value).next().unwrap().value,
        [1.0, 2.0],
        "{:?}",
        collected.unread
    );
}

#[test]
fn a_restart_is_counted_and_a_balancer_is_refused() {
    let mark = |n: usize| format!("{}\n", 1_700_000_000 + n);
    let restart: String = [(5.0, 1), (9.0, 1), (2.0, 2), (3.0, 2)]
        .iter()
        .enumerate()
        .map(|(n, (v, s))| mark(n) + &page(*v, *s))
        .collect();
    let collected = read(&restart);
    let run = only(&collected);
    let delta = run.series(Signal::Preemptions, Part::Value).next().unwrap().delta(run.info.window).unwrap();
    assert_eq!((delta.value, delta.resets), (7.0, 1));
    assert!(run.info.warnings.iter().any(|w| w.contains("restarted 1 times")), "{:?}", run.info.warnings);

    let balanced: String = [(5.0, 1), (90.0, 2), (6.0, 1), (91.0, 2)]
        .iter()
        .enumerate()
        .map(|(n, (v, s))| mark(n) + &page(*v, *s))
        .collect();
    let collected = read(&balanced);
    let run = only(&collected);
    assert_eq!(run.series(Signal::Preemptions, Part::Value).count(), 0, "no growth can be told");
    assert_eq!(run.series(Signal::Running, Part::Value).count(), 1, "a gauge is what it was");
    assert!(collected.unread[0].reason.contains("several processes answer at one address"), "{:?}", collected.unread);
}

#[test]
fn numbers_that_are_none_are_counted() {
    let mark = |n: usize| format!("{}\n", 1_700_000_000 + n);
    let collected = read(&pages(&[1.0, f64::NAN, -4.0, 3.0], mark));
    let run = only(&collected);
    assert_eq!(growth(run, Signal::Preemptions), 2.0);
    assert_eq!(collected.unread.len(), 1);
    assert!(collected.unread[0].reason.contains("vllm:num_preemptions_total is below zero"), "{:?}", collected.unread);
    assert!(run.info.warnings.iter().any(|w| w.contains("no number")), "{:?}", run.info.warnings);
}

#[test]
fn a_cut_page_loses_its_last_value_only() {
    let mark = |n: usize| format!("{}\n", 1_700_000_000 + n);
    let text = pages(&[1.0, 2.0, 30.0], mark);
    let cut = text.find("30.0").unwrap() + 1;
    let collected = read(&text[..cut]);
    assert_eq!(growth(only(&collected), Signal::Preemptions), 1.0, "3 of 30 is no value");
    assert!(collected.unread[0].reason.contains("may be cut"), "{:?}", collected.unread);
}

#[test]
fn a_long_history_is_thinned_without_losing_growth_or_restarts() {
    let mark = |n: usize| format!("{}\n", 1_700_000_000 + n);
    let values: Vec<f64> = (0..1000).map(|n| f64::from(if n < 501 { n } else { n - 501 })).collect();
    let text = pages(&values, mark);
    let whole = read(&text);
    let thinned = read_within(&text, &Limits { samples: 700, ..Limits::default() });
    let series =
        |collected: &Collected| only(collected).series(Signal::Preemptions, Part::Value).next().unwrap().clone();
    let (all, some) = (series(&whole), series(&thinned));
    assert_eq!(all.value.len(), 1000);
    assert!(some.value.len() < 300, "{}", some.value.len());
    let (a, b) = (all.delta(None).unwrap(), some.delta(None).unwrap());
    assert_eq!((a.value, a.resets, a.from, a.to), (b.value, b.resets, b.from, b.to));
    assert!(
        only(&thinned).info.warnings.iter().any(|w| w.contains("pages is held")),
        "{:?}",
        only(&thinned).info.warnings
    );
    let few = read_within(&text, &Limits { series: 2, ..Limits::default() });
    assert!(only(&few).info.warnings.iter().any(|w| w.contains("left out: 2000")), "{:?}", only(&few).info.warnings);
}

#[test]
fn bad_lines_are_listed_with_their_line() {
    let mark = |n: usize| format!("{}\n", 1_700_000_000 + n);
    let text = format!("{}broken line here\n{}", pages(&[1.0], mark), pages(&[2.0], |_| "1700000009\n".into()));
    let collected = read(&text);
    assert_eq!((collected.unread.len(), collected.unread[0].line), (1, Some(11)));
    assert_eq!(growth(only(&collected), Signal::Preemptions), 1.0);
}

#[test]
fn counters_that_restart_on_every_page_stay_within_the_limit() {
    let values: Vec<f64> = (0..2_000).map(|n| f64::from(2 - n % 2)).collect();
    let limits = Limits { samples: 100, ..Limits::default() };
    let collected = read_within(&pages(&values, |n| format!("{}\n", 1_700_000_000 + n)), &limits);
    let run = only(&collected);
    let held: usize = run.signals.iter().map(|series| series.at.len()).sum();
    // Of each series the newest sample is held beyond the limit.
    assert!(held <= limits.samples + run.signals.len(), "{held}");
    assert!(run.info.warnings.iter().any(|said| said.contains("restarts are lost")), "{:?}", run.info.warnings);
}

#[test]
fn series_one_after_the_other_state_the_deployment_however_many_samples_stand_before() {
    let mut text = String::from("# TYPE vllm:num_preemptions counter\n");
    for n in 0..1_000 {
        let _ = writeln!(text, "vllm:num_preemptions_total{{engine=\"0\"}} {n} {}", 1_700_000_000 + n);
    }
    text += "# TYPE vllm:cache_config_info gauge\n\
             vllm:cache_config_info{engine=\"0\",num_gpu_blocks=\"4711\"} 1 1700000000\n# EOF\n";
    let collected = read_within(&text, &Limits { page_bytes: 1_000, ..Limits::default() });
    let run = only(&collected);
    assert_eq!((growth(run, Signal::Preemptions), collected.read[0].rows), (999.0, 1_001));
    assert_eq!(run.info.fingerprint.get(field::KV_BLOCKS), Some("4711"));
}

#[test]
fn a_page_without_a_time_stays_between_its_neighbours() {
    let text = format!("1700000000\n{}{}1700000010\n{}", page(1.0, 1000), page(2.0, 1000), page(3.0, 1000));
    let collected = read(&text);
    let run = only(&collected);
    assert_eq!((run.info.clock.kind, growth(run, Signal::Preemptions)), (ClockKind::Order, 2.0));
    assert!(run.info.warnings[0].contains("1 of 3 pages have no time"), "{:?}", run.info.warnings);
}

#[test]
fn what_a_lone_page_has_beyond_the_limit_is_said() {
    let limits = Limits { page_bytes: 300, ..Limits::default() };
    let collected = read_within(&page(1.0, 1000), &limits);
    assert_eq!(reasons(&collected), ["the page goes on beyond the limit of 300 bytes"]);
    assert_eq!(collected.unread[0].line, Some(8));
}

#[test]
fn a_series_whose_only_value_is_cut_is_no_series_that_ended() {
    let collected = read("# TYPE a gauge\na 1\n# EOF\na 2\n# EOF\na 3\nb_total{x=\"1\"} 2");
    assert_eq!(collected.unread.iter().map(|one| one.line).collect::<Vec<_>>(), [Some(7)], "{:?}", collected.unread);
    let run = &collected.evidence.runs[0];
    assert_eq!(run.signals.iter().find(|series| series.name == "a").unwrap().value, [1.0, 2.0, 3.0]);
    assert!(run.info.warnings.iter().all(|warning| !warning.contains("end before")), "{:?}", run.info.warnings);
}
