//! What each tool's result becomes.

use crate::fixture::{self, file};
use firstcheck_ingest::{Input, Limits, collect, read_recordings, read_runs};
use firstcheck_model::{
    metric::{Metric, Stat},
    moment::Moment,
    recording::Recording,
    request::Fate,
    run::{Arrivals, Detail, Origin, RunState},
};

fn read(content: &str) -> Vec<Recording> {
    let (_dir, path) = file("result", content);
    read_recordings(&path).unwrap()
}

fn reported(run: &Recording, metric: Metric, stat: Stat) -> Option<(f64, Option<u64>)> {
    let figure = run.info.reported.iter().find(|f| f.metric == metric && f.stat == stat)?;
    Some((figure.value, figure.n))
}

fn close(value: Option<f64>, expected: f64) {
    let value = value.unwrap();
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn vllm_rows_have_starts_events_and_failures() {
    let runs = read(fixture::VLLM);
    let [run] = &runs[..] else { panic!("one run") };
    assert_eq!(run.info.detail, Detail::Events);
    assert_eq!(run.info.origin, Origin::Imported { tool: "vllm bench serve".into() });
    assert_eq!(run.info.workload.arrivals, Arrivals::Open { rate: 2.0, cv: Some(0.5) });
    assert_eq!(run.info.fingerprint.get("model"), Some("toy"));
    assert!(run.info.client.is_none() && run.info.reported.is_empty());
    let [first, second, refused] = &run.requests.0[..] else { panic!("three rows") };
    assert_eq!((first.intended, first.sent, second.sent), (Moment::NEVER, Moment::at(0), Moment::at(500_000_000)));
    close(first.ttft().map(|s| s.0), 0.1);
    close(second.e2e().map(|s| s.0), 0.24);
    close(second.tpot().map(|s| s.0), 0.04 / 3.0);
    assert_eq!((second.prompt_tokens, second.output_tokens), (Some(20), Some(4)));
    assert_eq!((refused.fate, refused.error.as_deref()), (Fate::Rejected, Some("TooManyRequests: Too Many Requests")));
    assert_eq!((refused.first_token, refused.output_tokens), (Moment::NEVER, None));
    let events: Vec<(u32, i64)> = run.events.iter().map(|e| (e.request, e.since_sent_ns / 1_000_000)).collect();
    assert_eq!(events, [(0, 100), (0, 150), (1, 200), (1, 210), (1, 240)]);
    assert_eq!(run.info.window.unwrap().end, Moment::at(4_000_000_000));
    assert!(run.info.warnings.is_empty(), "{:?}", run.info.warnings);
}

#[test]
fn events_of_several_tokens_give_zero_gaps_for_the_rest() {
    let (_dir, path) = file("result", fixture::VLLM);
    let streams = read_runs(&path).unwrap().remove(0).streams.unwrap();
    assert_eq!((streams.event_gaps.count(), streams.itl.count()), (3, 4), "four tokens in three events");
    assert_eq!(streams.longest_gap[1].map(|s| (s.0 * 1e3).round()), Some(30.0));
}

#[test]
fn vllm_trace_identity_changes_with_what_was_offered_and_only_with_that() {
    let hash = |content: &str| read(content)[0].info.workload.trace_hash.clone().unwrap();
    let base = hash(fixture::VLLM);
    assert!(base.starts_with("lengths:"));
    assert_eq!(base, hash(&fixture::VLLM.replace("[0.1, 0.2, 0.0]", "[0.3, 0.2, 0.0]")));
    assert_ne!(base, hash(&fixture::VLLM.replace("[10, 20, 30]", "[20, 10, 30]")));
    assert_ne!(base, hash(&fixture::VLLM.replace("\"request_rate\": 2.0", "\"request_rate\": 3.0")));
}

#[test]
fn vllm_without_rows_reports_its_summary() {
    let runs = read(fixture::VLLM_SUMMARY);
    let run = &runs[0];
    assert_eq!(run.info.detail, Detail::Summary);
    assert!(run.requests.is_empty() && run.info.workload.trace_hash.is_none());
    assert_eq!(run.info.workload.arrivals, Arrivals::Closed { concurrency: 2 });
    assert_eq!(reported(run, Metric::Ttft, Stat::Mean), Some((0.02, Some(3))));
    assert_eq!(reported(run, Metric::TtftFromSent, Stat::Quantile(0.999)), Some((0.031, Some(3))));
    assert_eq!(reported(run, Metric::EventGap, Stat::Mean), Some((0.01, None)), "between chunks, not tokens");
    assert_eq!(reported(run, Metric::Itl, Stat::Mean), None);
    assert_eq!(reported(run, Metric::FailedShare, Stat::Total), Some((0.25, Some(4))));
    let medians = run.info.reported.iter().filter(|f| f.metric == Metric::Ttft && f.stat == Stat::Quantile(0.5));
    assert_eq!(medians.count(), 1);
}

#[test]
fn vllm_that_completed_nothing_has_no_latency_of_zero() {
    let none = r#"{"num_prompts":8,"request_rate":"inf","duration":0.1,"completed":0,"failed":8,"request_throughput":0.0,
        "output_throughput":0.0,"mean_ttft_ms":0.0,"p99_ttft_ms":0.0,"mean_itl_ms":0.0}"#;
    let runs = read(none);
    assert_eq!(reported(&runs[0], Metric::Ttft, Stat::Mean), None);
    assert_eq!(reported(&runs[0], Metric::FailedShare, Stat::Total), Some((1.0, Some(8))));
    assert_eq!(reported(&runs[0], Metric::RequestThroughput, Stat::Total), Some((0.0, Some(0))));
}

#[test]
fn vllm_rows_without_starts_are_not_placed_in_time() {
    let runs = read(&fixture::VLLM.replace("\"start_times\"", "\"something_else\""));
    assert_eq!((&runs[0].info.detail, runs[0].requests.len()), (&Detail::Requests, 3));
    assert_eq!((runs[0].requests[0].sent, runs[0].requests[2].fate), (Moment::NEVER, Fate::Rejected));
    assert!(runs[0].info.warnings.iter().any(|w| w.contains("start_times")));
    assert_eq!(reported(&runs[0], Metric::Ttft, Stat::Mean), Some((0.15, Some(2))));
}

#[test]
fn a_count_that_the_rows_contradict_is_said() {
    let runs = read(&fixture::VLLM.replace("\"completed\": 2", "\"completed\": 3"));
    let said = &runs[0].info.contradictions;
    assert!(said.iter().any(|said| said.contains("counts 3 completed")), "{said:?}");
}

#[test]
fn several_results_of_a_file_are_several_runs_with_names_of_their_own() {
    let (_dir, path) = file("result", &format!("{}\n{}", fixture::VLLM, fixture::VLLM_SUMMARY));
    let runs = read_runs(&path).unwrap();
    let labels: Vec<bool> = runs.iter().enumerate().map(|(n, r)| r.label.ends_with(&format!("#{}", n + 1))).collect();
    assert_eq!(labels, [true, true]);
    assert_ne!(runs[0].info.id, runs[1].info.id);
    assert_eq!(read(&format!("[{},{}]", fixture::VLLM, fixture::VLLM_SUMMARY)).len(), 2);
}

#[test]
fn one_run_of_a_file_is_named_as_reports_label_it() {
    let (_dir, path) = file("result", &format!("{}\n{}", fixture::VLLM, fixture::VLLM_SUMMARY));
    let all = read_runs(&path).unwrap();
    let one = |n: usize| read_runs(std::path::Path::new(&format!("{}#{n}", path.display())));
    for (n, run) in (1..).zip(&all) {
        assert_eq!(one(n).unwrap(), std::slice::from_ref(run));
    }
    let error = one(3).unwrap_err().to_string();
    assert!(error.contains("holds 2 runs, there is no run 3"), "{error}");
    assert!(one(0).is_err());
}

#[test]
fn sglang_lines_are_summaries_and_its_own_protocol_counts_tokens() {
    let runs = read(fixture::SGLANG);
    let [native, other] = &runs[..] else { panic!("two runs") };
    assert_eq!((&native.info.detail, &other.info.detail), (&Detail::Summary, &Detail::Summary));
    assert_eq!(native.info.workload.arrivals, Arrivals::Closed { concurrency: 8 });
    assert_eq!(other.info.workload.arrivals, Arrivals::Open { rate: 4.0, cv: Some(1.0) });
    assert_eq!(reported(native, Metric::Itl, Stat::Quantile(0.95)), Some((0.012, None)));
    assert_eq!(reported(other, Metric::EventGap, Stat::Mean), Some((0.011, None)));
    assert_eq!(reported(native, Metric::E2e, Stat::Quantile(0.99)), Some((0.5, Some(5))));
    assert_eq!(reported(native, Metric::Tpot, Stat::Mean), None, "NaN is missing");
}

#[test]
fn aiperf_rows_come_in_the_order_of_their_credits() {
    let runs = read(fixture::AIPERF);
    let [run] = &runs[..] else { panic!("one run") };
    assert_eq!(run.info.detail, Detail::Events);
    assert_eq!(run.info.clock.started_unix_ns, Some(1_000_000_000_000_000));
    let [first, second, refused] = &run.requests.0[..] else { panic!("three rows") };
    assert_eq!((first.intended, first.sent), (Moment::at(0), Moment::at(2_000_000)));
    close(first.ttft().map(|s| s.0), 0.022);
    close(first.ttft_from_sent().map(|s| s.0), 0.020);
    close(second.ttft_from_sent().map(|s| s.0), 0.040);
    assert_eq!(second.last_token.ns_since(second.sent), Some(190_000_000));
    assert_eq!((refused.fate, refused.error.as_deref()), (Fate::Rejected, Some("http 429: slow down")));
    assert_eq!(run.events.iter().filter(|e| e.request == 1).count(), 3);
}

#[test]
fn aiperf_rows_that_say_nothing_failed_and_a_missing_gap_is_no_gap_of_zero() {
    let silent =
        fixture::AIPERF.replace(r#""metrics":{},"#, "").replace(r#""error":{"code":429"#, r#""x":{"code":429"#);
    assert_eq!(read(&silent)[0].requests[2].fate, Fate::Failed);
    let (_dir, path) = file("result", &fixture::AIPERF.replace("[50.0,100.0]", "[50.0,null]"));
    assert!(read_recordings(&path).unwrap_err().to_string().contains("a gap of request 1"));
}

#[test]
fn a_broken_line_of_aiperf_is_counted_and_named() {
    let broken = format!("{}{{\"metadata\":{{\"request_start_ns\":\n", fixture::AIPERF);
    let (_dir, path) = file("result", &broken);
    let gathered = firstcheck_ingest::gather(&[path]);
    assert_eq!((gathered.runs.len(), gathered.runs[0].requests.len()), (1, 3));
    assert_eq!(gathered.unread[0].line, Some(4));
    assert!(gathered.runs[0].info.warnings.iter().any(|w| w.starts_with("1 lines unread")));
}

#[test]
fn aiperf_warm_up_lies_outside_the_window() {
    let with_warm_up =
        fixture::AIPERF.replacen("\"profiling\"", "\"warmup\"", 2).replacen("\"warmup\"", "\"profiling\"", 1);
    let runs = read(&with_warm_up);
    let inside: Vec<usize> = runs[0].requests.in_window(runs[0].info.window).map(|(row, _)| row).collect();
    assert_eq!(inside, [1, 2]);
}

#[test]
fn aiperf_summary_alone_reports_with_the_right_names() {
    let runs = read(fixture::AIPERF_SUMMARY);
    let run = &runs[0];
    assert_eq!(run.info.tool, "aiperf 9.9");
    assert_eq!(run.info.workload.arrivals, Arrivals::Closed { concurrency: 2 });
    assert_eq!(
        reported(run, Metric::Tpot, Stat::Mean),
        Some((0.475, Some(2))),
        "its inter_token_latency is one a request"
    );
    assert_eq!(reported(run, Metric::EventGap, Stat::Mean).unwrap().1, Some(3));
    assert_eq!(reported(run, Metric::FailedShare, Stat::Total), Some((0.0, Some(2))));
    let cancelled = read(&fixture::AIPERF_SUMMARY.replace("\"was_cancelled\":false", "\"was_cancelled\":true"));
    assert!(matches!(cancelled[0].info.state, RunState::Interrupted { .. }));
}

#[test]
fn guidellm_gives_a_sample_and_a_summary() {
    let runs = read(fixture::GUIDELLM);
    let [sample, failed] = &runs[..] else { panic!("two runs") };
    assert_eq!(sample.info.detail, Detail::Sample { of: Some(2) });
    assert_eq!(sample.info.workload.arrivals, Arrivals::Open { rate: 2.5, cv: Some(1.0) });
    assert_eq!((sample.info.seed, sample.info.tool.as_str()), (Some(7), "guidellm 0.9"));
    let row = &sample.requests[0];
    assert!((row.ttft().unwrap().0 - 0.055).abs() < 1e-6 && (row.ttft_from_sent().unwrap().0 - 0.05).abs() < 1e-6);
    assert_eq!(sample.requests.in_window(sample.info.window).count(), 1);
    assert_eq!(reported(sample, Metric::TtftFromSent, Stat::Quantile(0.01)), Some((0.04, Some(2))));
    assert_eq!(reported(sample, Metric::TtftFromSent, Stat::Quantile(0.999)), Some((0.061, Some(2))));
    assert_eq!(reported(sample, Metric::Itl, Stat::Mean), Some((0.01, Some(18))));
    assert_eq!(reported(sample, Metric::Tpot, Stat::Quantile(0.5)), None, "weighted by tokens, lengths differ");
    assert!(sample.info.warnings.iter().any(|w| w.contains("slow client")));
    assert_eq!(failed.info.detail, Detail::Summary);
    assert_eq!(failed.info.workload.arrivals, Arrivals::Closed { concurrency: 3 });
    assert_eq!(reported(failed, Metric::FailedShare, Stat::Total), Some((1.0, Some(4))));
}

#[test]
fn inference_perf_reports_seconds_and_its_lateness_against_a_plan() {
    let stage = &read(fixture::INFERENCE_PERF_STAGE)[0];
    assert_eq!(stage.info.workload.arrivals, Arrivals::Open { rate: 3.0, cv: None });
    assert_eq!(reported(stage, Metric::Ttft, Stat::Quantile(0.95)), Some((0.2, Some(8))));
    assert_eq!(reported(stage, Metric::E2e, Stat::Quantile(0.999)), Some((2.0, Some(8))));
    assert_eq!(reported(stage, Metric::Tpot, Stat::Quantile(0.5)), Some((0.01, Some(8))));
    assert_eq!(reported(stage, Metric::SendLag, Stat::Quantile(0.99)), Some((0.01, Some(9))));
    assert_eq!(reported(stage, Metric::FailedShare, Stat::Total), Some((1.0 / 9.0, Some(9))));
    let whole = &read(fixture::INFERENCE_PERF_WHOLE)[0];
    assert_eq!(whole.info.workload.arrivals, Arrivals::Unknown);
    assert_eq!(reported(whole, Metric::SendLag, Stat::Mean), None, "without a known plan its delay says nothing");
}

#[test]
fn answers_one_after_another_keep_their_schema_and_no_text() {
    let text = r#"[
        {"kind": "plain", "ttft_s": 0.02, "total_s": 0.2, "text": "ab c", "finish": "stop", "usage": {"completion_tokens": 3}},
        {"kind": "small", "schema_bytes": 182, "ttft_s": 0.1, "total_s": 0.3, "text": "{   ", "finish": "length", "usage": {"prompt_tokens": 17, "completion_tokens": 24}}
    ]"#;
    let mut bytes = text.as_bytes();
    let collected = collect(vec![Input::Stream("answers.json", &mut bytes)], &Limits::default());
    let requests = &collected.evidence.runs[0].requests.0;
    assert_eq!((requests[0].schema, requests[0].blank_share), (None, Some(0.25)));
    assert!(requests[1].schema.is_some());
    assert_eq!((requests[1].blank_share, requests[1].output_tokens), (Some(0.75), Some(24)));
    assert_eq!(requests[1].sent.since(requests[0].sent).map(|apart| apart.0), Some(0.2));
}

#[test]
fn failed_requests_without_a_row_count_as_offered() {
    let runs = read(
        &fixture::VLLM.replace("\"num_prompts\": 3", "\"num_prompts\": 7").replace("\"failed\": 1", "\"failed\": 5"),
    );
    let [run] = &runs[..] else { panic!("one run") };
    let lost = run.requests.0.iter().filter(|r| r.fate != Fate::Completed).count();
    assert_eq!((run.requests.len(), lost), (7, 5));
    assert_eq!(run.requests.in_window(run.info.window).count(), 7, "they are offered, wherever they stand");
    assert!(run.info.warnings.iter().any(|w| w.contains("the other 4 count as offered")), "{:?}", run.info.warnings);
    assert!(run.info.contradictions.is_empty(), "two completed and five failed are the seven offered");
}

#[test]
fn totals_that_the_rows_contradict_are_contradictions() {
    let cases = [
        ("\"completed\": 2", "\"completed\": 1", "counts 1 completed"),
        ("\"failed\": 1", "\"failed\": 4", "2 completed and 4 failed requests are more than the 3"),
        ("\"failed\": 1", "\"failed\": 1e15", "counts 1000000000000000 failed"),
        (
            "\"completed\": 2",
            "\"completed\": 2, \"total_output_tokens\": 12",
            "counts 12 output tokens, its requests add up to 6",
        ),
        ("\"completed\": 2", "\"completed\": 2, \"total_input_tokens\": 90", "counts 90 prompt tokens"),
        (
            "[0.01, 0.03]",
            "[0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01]",
            "1 streams have more events than tokens",
        ),
    ];
    for (from, to, reason) in cases {
        assert!(fixture::VLLM.contains(from));
        let said = read(&fixture::VLLM.replace(from, to)).remove(0).info.contradictions.join("\n");
        assert!(said.contains(reason), "{to}: {said}");
    }
    for agrees in ["\"total_output_tokens\": 6", "\"total_input_tokens\": 30", "\"total_input_tokens\": 60"] {
        let run = read(&fixture::VLLM.replace("\"completed\": 2", &format!("\"completed\": 2, {agrees}"))).remove(0);
        assert!(run.info.contradictions.is_empty(), "{agrees}: {:?}", run.info.contradictions);
    }
}

#[test]
fn sglang_details_are_requests_with_their_fates_and_errors() {
    let details = r#""input_lens":[10,20,30],"output_lens":[4,0,5],"ttfts":[0.1,0.0,0.2],"itls":[[0.01,0.01,0.01],[],[0.02,0.02,0.02,0.02]],
        "generated_texts":["a","","b"],"errors":["","HTTP 503 Service Unavailable",""],"completed":2,"#;
    let line = |more: &str| {
        fixture::SGLANG
            .lines()
            .next()
            .unwrap()
            .replace("\"completed\":5,", &format!("{details}{more}").replace('\n', ""))
    };
    let run = read(&line("")).remove(0);
    assert_eq!(run.info.detail, Detail::Requests);
    let fates: Vec<Fate> = run.requests.0.iter().map(|r| r.fate).collect();
    assert_eq!(fates, [Fate::Completed, Fate::Rejected, Fate::Completed]);
    assert_eq!(run.requests[1].error.as_deref(), Some("HTTP 503 Service Unavailable"));
    assert_eq!((run.requests[2].prompt_tokens, run.requests[2].output_tokens), (Some(30), Some(5)));
    assert!(run.requests[0].ttft().is_none() && run.events.is_empty(), "at no moment: no latency of its own");
    assert_eq!(reported(&run, Metric::Ttft, Stat::Mean), Some((0.05, Some(2))), "printed ones stay");
    let with_starts = line("\"start_times\":[5.0,5.1,5.2],");
    let placed = read(&with_starts.replace("\"sglang\"", "\"sglang-oai\"")).remove(0);
    assert_eq!((placed.info.detail, placed.events.len()), (Detail::Events, 9));
    close(placed.requests[2].ttft().map(|s| s.0), 0.2);
    // By its own protocol the client divides the gap before a chunk by its tokens: no event stands where the sums end.
    let native = read(&with_starts).remove(0);
    assert_eq!((native.info.detail, native.events.len()), (Detail::Requests, 0));
    close(native.requests[2].ttft().map(|s| s.0), 0.2);
    assert!(reported(&native, Metric::Itl, Stat::Mean).is_some(), "gaps of tokens are the printed ones");
    assert!(reported(&native, Metric::Ttft, Stat::Mean).is_none(), "its requests tell them");
    let broken = read(&line("\"start_times\":[5.0],")).remove(0);
    assert_eq!(broken.info.detail, Detail::Summary);
    assert!(broken.info.warnings[0].contains("start_times has 1 entries, input_lens 3"), "{:?}", broken.info.warnings);
}
