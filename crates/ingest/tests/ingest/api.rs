//! Answers of the Prometheus API: series by series, several in a stream.

use crate::{
    collect::reasons,
    observed::{growth, only, read, read_within},
};
use firstcheck_ingest::{Fetched, Input, Limits, collect, detect_bytes};
use firstcheck_model::{
    fingerprint::field,
    signal::{Part, Signal},
};
use proptest::prelude::*;

const START: u64 = 1_700_000_000;

/// A series with samples every five seconds from `from` on; a value that is no number is not there.
fn series(name: &str, labels: &str, from: u64, values: &[f64]) -> String {
    let samples = values.iter().enumerate().filter(|(_, value)| !value.is_nan());
    let samples: Vec<String> = samples.map(|(n, value)| format!("[{},\"{value}\"]", from + 5 * n as u64)).collect();
    format!("{{\"metric\":{{\"__name__\":\"{name}\"{labels}}},\"values\":[{}]}}", samples.join(","))
}

fn answer(series: &[String]) -> String {
    format!("{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{}]}}}}", series.join(","))
}

const ONE: &str = ",\"job\":\"vllm\",\"instance\":\"a:8000\",\"engine\":\"0\"";
const TWO: &str = ",\"job\":\"vllm\",\"instance\":\"b:8000\",\"engine\":\"0\"";

#[test]
fn an_answer_is_series_with_kinds_meanings_and_times() {
    let text = answer(&[
        series("vllm:num_preemptions_total", ONE, START, &[3.0, 4.0, 9.0]),
        series("vllm:num_preemptions_total", TWO, START, &[100.0, 100.0, 101.0]),
        series("vllm:num_requests_running", ONE, START, &[2.0, 0.0, 5.0]),
        series("vllm:time_to_first_token_seconds_bucket", &format!("{ONE},\"le\":\"0.5\""), START, &[1.0, 2.0, 2.0]),
        series("vllm:time_to_first_token_seconds_bucket", &format!("{ONE},\"le\":\"+Inf\""), START, &[1.0, 2.0, 3.0]),
        series(
            "vllm:cache_config_info",
            &format!("{ONE},\"num_gpu_blocks\":\"4711\",\"block_size\":\"16\""),
            START,
            &[1.0],
        ),
        series("something_else", ONE, START, &[1.0]),
        series("up", ONE, START, &[1.0, 1.0, 1.0]),
    ]);
    let collected = read(&text);
    assert_eq!(collected.unread, []);
    let run = only(&collected);
    assert_eq!(run.info.clock.started_unix_ns, Some(1_700_000_000_000_000_000));
    assert_eq!(run.info.window.unwrap().length().unwrap().0, 10.0);
    assert_eq!(growth(run, Signal::Preemptions), 7.0, "each replica from its own start");
    let bounds: Vec<Part> = run.signals.iter().filter(|s| s.signal == Some(Signal::Ttft)).map(|s| s.part).collect();
    assert_eq!(bounds, [Part::Bucket(0.5), Part::Bucket(f64::INFINITY)]);
    let stated = |name| run.info.fingerprint.get(name);
    assert_eq!((stated(field::ENGINE), stated(field::KV_BLOCKS)), (Some("vllm"), Some("4711")));
    let row = &collected.read[0];
    assert_eq!((row.format.as_str(), row.rows, row.engine.as_deref()), ("prometheus-api", 20, Some("vllm")));
    assert_eq!(row.replicas, ["instance=a:8000,engine=0", "instance=b:8000,engine=0"]);
    let unknown: Vec<&str> = collected.not_understood.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(unknown, ["something_else"]);
}

/// The frames of Prometheus, Thanos, VictoriaMetrics (query and export), an instant vector, keys in another order.
#[test]
fn all_frames_are_told_by_their_content() {
    let one = series("vllm:num_requests_running", ONE, START, &[2.0, 3.0]);
    let (before, after) = (answer(std::slice::from_ref(&one)), series("up", ONE, START, &[1.0]));
    let cases = [
        (before.clone(), 2),
        (format!("{before}\n{}\n", answer(&[after])), 3),
        (before.replace("\"data\"", "\"isPartial\":false,\"data\""), 2),
        (format!("{{\"data\":{{\"result\":[{one}],\"resultType\":\"matrix\"}},\"status\":\"success\"}}"), 2),
        (before.replace("[{\"metric\"", "[  {\"metric\"").replace(":{", ": {"), 2),
        (
            "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{\"__name__\":\"up\"},\
             \"value\":[1700000000.123,\"1\"]}]}}"
                .into(),
            1,
        ),
        (
            "{\"metric\":{\"__name__\":\"up\"},\"values\":[1,0,null],\"timestamps\":[1700000000000,1700000005000,\
             1700000010000]}\n{\"metric\":{\"__name__\":\"vllm:num_preemptions_total\"},\"values\":[1],\
             \"timestamps\":[1700000000000]}\n"
                .into(),
            4,
        ),
    ];
    for (text, samples) in cases {
        assert_eq!(detect_bytes(text.as_bytes()).map(|format| format.id), Some("prometheus-api"), "{text}");
        let collected = read(&text);
        assert_eq!(collected.unread, [], "{text}");
        assert_eq!(collected.read[0].rows, samples, "{text}");
    }
    for text in [
        "{\"status\":\"success\",\"data\":{\"resultType\":\"streams\",\"result\":[{\"stream\":{},\"values\":[]}]}}",
        "{\"status\":\"ok\",\"data\":{\"a\":1}}",
    ] {
        assert_eq!(detect_bytes(text.as_bytes()).map(|format| format.id), None, "{text}");
    }
}

#[test]
fn chunks_in_any_order_are_one_history_and_a_shared_sample_counts_once() {
    let name = "vllm:num_preemptions_total";
    let early = answer(&[series(name, ONE, START, &[3.0, 4.0, 9.0])]);
    let late = answer(&[series(name, ONE, START + 10, &[9.0, 2.0, 3.0])]);
    for text in [format!("{early}{late}"), format!("{late}\n{early}")] {
        let collected = read(&text);
        let run = only(&collected);
        let series = run.series(Signal::Preemptions, Part::Value).next().unwrap();
        assert_eq!(series.value, [3.0, 4.0, 9.0, 2.0, 3.0]);
        let delta = series.delta(None).unwrap();
        assert_eq!((delta.value, delta.resets), (9.0, 1), "a restart from zero");
    }
}

#[test]
fn what_the_server_says_beside_its_result_is_told() {
    let good = answer(&[series("vllm:num_requests_running", ONE, START, &[2.0, 3.0])]);
    let warned = good.replace("}}", "}},\"x\":1").replacen(
        "\"status\"",
        "\"warnings\":[\"store b is down\"],\"isPartial\":true,\"status\"",
        1,
    );
    let warned = warned.replace(",\"x\":1", "");
    let collected = read(&warned);
    let notes = &collected.read[0].notes;
    assert!(notes[0].contains("partial") && notes[1].ends_with("store b is down"), "{notes:?}");
    assert_eq!(only(&collected).info.warnings[..2], notes[..2]);

    let refused = "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"1:9: parse error\"}";
    assert_eq!(reasons(&read(refused)), ["no sample: bad_data: 1:9: parse error"]);
    let collected = read(&format!("{good}\n{refused}"));
    assert_eq!(reasons(&collected), ["one of the answers is a failure: bad_data: 1:9: parse error"]);
    assert_eq!(collected.read[0].rows, 2);
}

#[test]
fn what_cannot_be_read_is_counted() {
    let good = series("vllm:num_requests_running", ONE, START, &[2.0, 3.0]);
    let cases = [
        (
            "{\"metric\":{\"__name__\":\"up\"},\"values\":[[1,\"x\"],[\"y\",\"1\"],[1e300,\"1\"],3]}",
            "4 samples are no time",
        ),
        (
            "{\"metric\":{\"__name__\":\"up\"},\"histograms\":[[1,{\"count\":\"1\"}]]}",
            "1 samples are native histograms",
        ),
        ("{\"metric\":{\"job\":\"vllm\"},\"values\":[[1700000000,\"1\"]]}", "1 series have no name"),
        (
            "{\"metric\":{\"__name__\":\"x_bucket\",\"le\":\"wide\"},\"values\":[[1700000000,\"1\"]]}",
            "1 samples are no",
        ),
        ("{\"metric\":{\"__name__\":\"vllm:num_preemptions_total\"},\"values\":[[1700000000,\"-1\"]]}", "below zero"),
    ];
    for (odd, reason) in cases {
        let collected = read(&answer(&[good.clone(), odd.to_owned()]));
        assert!(reasons(&collected).iter().any(|said| said.contains(reason)), "{odd}: {:?}", collected.unread);
        assert_eq!(collected.read[0].rows, 2, "{odd}");
    }
    let whole = answer(&[good.clone(), good.replace("running", "waiting")]);
    let collected = read(&whole[..whole.len() - 30]);
    assert!(reasons(&collected)[0].starts_with("breaks off"), "{:?}", collected.unread);
    assert_eq!(collected.read[0].rows, 2);
    for empty in [
        "{\"status\":\"success\",\"data\":[\"up\"]}",
        "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[1,\"1\"]}}",
    ] {
        assert_eq!(reasons(&read(empty)), ["no sample: the answers list no series with values"], "{empty}");
    }
}

#[test]
fn restarts_flapping_gaps_and_failed_scrapes_are_told() {
    let started = |starts: &[f64]| {
        answer(&[
            series("process_start_time_seconds", ONE, START, starts),
            series("vllm:num_preemptions_total", ONE, START, &[3.0, 4.0, 1.0, 2.0]),
            series("vllm:num_requests_running", ONE, START, &[3.0, 4.0, 1.0, 2.0]),
        ])
    };
    let restarted = read(&started(&[7.0, 7.0, 9.0, 9.0]));
    let run = only(&restarted);
    assert!(run.info.warnings.iter().any(|w| w.contains("restarted 1 times")), "{:?}", run.info.warnings);
    assert_eq!(growth(run, Signal::Preemptions), 3.0);

    let balanced = read(&started(&[7.0, 9.0, 7.0, 9.0]));
    assert!(reasons(&balanced)[0].contains("instance=\"a:8000\""), "{:?}", balanced.unread);
    assert!(reasons(&balanced)[0].contains("several processes answer at one address"), "{:?}", balanced.unread);
    assert_eq!(only(&balanced).series(Signal::Preemptions, Part::Value).count(), 0);
    assert_eq!(only(&balanced).series(Signal::Running, Part::Value).count(), 1, "what is no growth stays");

    let mut values = vec![1.0; 40];
    values[10..16].fill(f64::NAN);
    let up: Vec<f64> = (0..40).map(|n| f64::from(u8::from(n >= 3))).collect();
    let late = vec![5.0; 20];
    let text = answer(&[
        series("vllm:num_requests_running", ONE, START, &values),
        series("up", TWO, START, &up),
        series("vllm:num_requests_running", ",\"pod\":\"new\"", START + 100, &late),
    ]);
    let collected = read(&text);
    let said = collected.read[0].notes.join("\n");
    for part in [
        "instance=a:8000: 1 gaps between samples that are usually 5 s apart, the longest of 35 s from 2023-11-14T22:14:05Z",
        "instance=b:8000: 3 of 40 scrapes failed",
        "1 of 3 targets were not there all the time",
    ] {
        assert!(said.contains(part), "{part}:\n{said}");
    }
}

/// In a rollout one replica has the old name of a series and another the new: each counts.
#[test]
fn old_and_new_names_of_different_replicas_both_count() {
    let text = answer(&[
        series("vllm:gpu_cache_usage_perc", ONE, START, &[0.5]),
        series("vllm:kv_cache_usage_perc", TWO, START, &[0.25]),
        series("vllm:gpu_cache_usage_perc", TWO, START, &[0.25]),
    ]);
    let collected = read(&text);
    let usage: Vec<f64> = only(&collected).series(Signal::KvCacheUsage, Part::Value).map(|s| s.value[0]).collect();
    assert_eq!(usage, [0.5, 0.25]);
}

#[test]
fn more_than_the_limits_hold_is_thinned_and_counted() {
    let values: Vec<f64> = (0..100).map(|n| f64::from(if n < 50 { n } else { n - 50 })).collect();
    let text = answer(&[
        series("vllm:num_preemptions_total", ONE, START, &values),
        series("vllm:num_preemptions_total", TWO, START, &values),
    ]);
    let collected = read_within(&text, &Limits { samples: 60, ..Limits::default() });
    let run = only(&collected);
    assert!(run.signals.iter().map(|s| s.value.len()).sum::<usize>() < 100);
    assert_eq!(growth(run, Signal::Preemptions), 2.0 * 98.0, "the restart is not thinned away");
    assert!(run.info.warnings.iter().any(|w| w.contains("th sample of a series is held")), "{:?}", run.info.warnings);
    let collected = read_within(&text, &Limits { series: 1, ..Limits::default() });
    assert!(
        collected.read[0].notes.iter().any(|note| note.ends_with("left out: 100")),
        "{:?}",
        collected.read[0].notes
    );
}

#[test]
fn counters_that_restart_all_the_time_stay_within_the_limit() {
    let values: Vec<f64> = (0..2_000).map(|n| f64::from(2 - n % 2)).collect();
    let text = answer(&[
        series("vllm:num_preemptions_total", ONE, START, &values),
        series("vllm:num_preemptions_total", TWO, START, &values),
    ]);
    let limits = Limits { samples: 100, ..Limits::default() };
    let collected = read_within(&text, &limits);
    let run = only(&collected);
    let held: usize = run.signals.iter().map(|series| series.at.len()).sum();
    // Of each series the newest sample is held beyond the limit.
    assert!(held <= limits.samples + run.signals.len(), "{held}");
    assert!(run.info.warnings.iter().any(|said| said.contains("restarts are lost")), "{:?}", run.info.warnings);
}

#[test]
fn answers_beyond_the_limit_are_said() {
    let one = answer(&[series("vllm:num_requests_running", ONE, START, &[2.0, 3.0])]);
    let text = format!("{one}\n{one}\n");
    for limit in [one.len() as u64, one.len() as u64 + 9] {
        let collected = read_within(&text, &Limits { file_bytes: limit, ..Limits::default() });
        assert_eq!(only(&collected).signals.len(), 1);
        let beyond = format!("the answers go on beyond the limit of {limit} bytes");
        assert!(reasons(&collected).contains(&beyond.as_str()), "{:?}", collected.unread);
    }
    let whole = read_within(&text, &Limits { file_bytes: text.len() as u64, ..Limits::default() });
    assert_eq!(whole.unread, []);
}

#[test]
fn what_was_fetched_is_read_like_files_of_one_folder() {
    let of = |name: &str, bytes: &str| Fetched {
        name: format!("http://host:8000/{name}"),
        source: "http://host:8000".into(),
        bytes: bytes.into(),
        ..Fetched::default()
    };
    let mut series = of("metrics", &answer(&[series("vllm:num_requests_running", ONE, START, &[2.0, 3.0])]));
    series.notes.push("one sample every 5 s".into());
    series.passed_over.push("go_threads".into());
    let version = of("version", "{\"version\":\"0.77\"}");
    let inputs = [series, version].map(Input::Fetched).into_iter().collect();
    let collected = collect(inputs, &Limits::default());
    assert_eq!(only(&collected).info.fingerprint.get(field::ENGINE_VERSION), Some("0.77"));
    assert!(collected.read[0].notes.contains(&"one sample every 5 s".to_owned()));
    assert_eq!(collected.not_understood[0].kind, "go_threads");
}

proptest! {
    #[test]
    fn any_answer_is_read_or_refused_and_its_series_are_in_order(
        text in r#"\{("(status|data|result|metric|values|value|timestamps|warnings|isPartial|error)":("success"|null|1|\[\]|\[\[1,"2"\],[3,null]\]|\{"result":\[\{"metric":\{"__name__":"a_bucket","le":"1"\},"values":\[\[3,"1"\],\[1,"NaN"\]\]\}\]\}|\{\}),){0,5}"status":"success"\}"#
    ) {
        let collected = read(&text);
        prop_assert!(collected.unread.iter().all(|unread| !unread.reason.contains("gave up")), "{:?}", collected.unread);
        for series in collected.evidence.runs.iter().flat_map(|run| &run.signals) {
            prop_assert_eq!(series.at.len(), series.value.len());
            prop_assert!(series.at.is_sorted());
        }
    }
}
