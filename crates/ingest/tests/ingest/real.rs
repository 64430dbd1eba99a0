//! Real files, reached through `FIRSTCHECK_ARTEFACTS`: each importer's numbers against the file's own summary, by the
//! conventions of its tool.
//!
//! Conventions. vLLM and AIPerf: numpy (linear interpolation between ranks, population standard deviation); vLLM's TPOT
//! and AIPerf's "inter-token latency" are (latency − TTFT) / (tokens − 1) with the latency to the end of the response.
//! GuideLLM, inference-perf and SGLang keep no complete rows: what they report is compared as it stands.

use firstcheck_ingest::{Input, Limits, collect, gather, prometheus, read_recordings, read_runs};
use firstcheck_model::{
    evidence::RunEvidence,
    fingerprint::field,
    metric::{Metric, Stat},
    moment::Moment,
    recording::Recording,
    request::Request,
    run::Detail,
    signal::{Part, Signal},
};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn artefacts() -> Option<PathBuf> {
    let found = std::env::var_os("FIRSTCHECK_ARTEFACTS").map(PathBuf::from);
    if found.is_none() {
        eprintln!("SKIPPED: FIRSTCHECK_ARTEFACTS is not set, real files are not read");
    }
    found
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// All files below a folder that `wanted` takes.
fn walk(folder: &Path, wanted: &dyn Fn(&Path) -> bool, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, wanted, into);
        } else if wanted(&path) {
            into.push(path);
        }
    }
}

/// numpy's percentile with linear interpolation; `percent` of 100.
fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = percent / 100.0 * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    low + (high - low) * rank.fract()
}

fn statistic(values: &[f64], name: &str) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Some(match name {
        "mean" | "avg" => mean,
        "std" => (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64).sqrt(),
        "median" => percentile(values, 50.0),
        "min" => values.iter().copied().fold(f64::INFINITY, f64::min),
        "max" => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        "sum" => values.iter().sum(),
        "count" => values.len() as f64,
        name => percentile(values, name.strip_prefix('p')?.parse().ok()?),
    })
}

/// Milliseconds from one moment of each request to another.
fn between(run: &Recording, from: impl Fn(&Request) -> Moment, to: impl Fn(&Request) -> Moment) -> Vec<f64> {
    run.requests.0.iter().filter_map(|r| Some(to(r).since(from(r))?.0 * 1e3)).collect()
}

/// (latency − TTFT) / (tokens − 1), milliseconds.
fn per_token(run: &Recording) -> Vec<f64> {
    let of =
        |r: &Request| Some(r.done.since(r.first_token)?.0 * 1e3 / f64::from(r.output_tokens.filter(|n| *n > 1)? - 1));
    run.requests.0.iter().filter_map(of).collect()
}

fn gaps(run: &Recording) -> Vec<f64> {
    let pairs = run.events.windows(2).filter(|pair| pair[0].request == pair[1].request);
    pairs.map(|pair| (pair[1].since_sent_ns - pair[0].since_sent_ns) as f64 * 1e-6).collect()
}

/// Equal within rounding: a nanosecond a sample, and what summing many does to a double.
fn assert_same(what: &str, ours: f64, theirs: f64) {
    let tolerance = 5e-6 + theirs.abs() * 1e-7;
    assert!((ours - theirs).abs() <= tolerance, "{what}: ours {ours}, the file's {theirs}");
}

#[test]
fn vllm_rows_give_every_figure_of_the_files_summary() {
    let Some(root) = artefacts() else { return };
    let mut files =
        vec![root.join("bench/peers/vllm-bench-rs/c16.json"), root.join("bench/peers/vllm-bench-serve-py/c16.json")];
    walk(&root.join("engine"), &|p| p.file_name().unwrap().to_str().unwrap().starts_with("bench."), &mut files);
    assert!(files.len() > 10);
    for path in files {
        let summary = json(&path);
        let runs = read_recordings(&path).unwrap();
        let [run] = &runs[..] else { panic!("{} has one run", path.display()) };
        assert_eq!(run.info.detail, Detail::Events);
        assert!(run.info.warnings.is_empty(), "{}: {:?}", path.display(), run.info.warnings);
        let mut compared = 0;
        for (name, value) in summary.as_object().unwrap() {
            let Some((stat, metric)) = name.strip_suffix("_ms").and_then(|n| n.split_once('_')) else { continue };
            let values = match metric {
                "ttft" => between(run, |r| r.sent, |r| r.first_token),
                "e2el" => between(run, |r| r.sent, |r| r.done),
                "tpot" => per_token(run),
                "itl" => gaps(run),
                _ => continue,
            };
            let what = format!("{} {name}", path.display());
            assert_same(&what, statistic(&values, stat).unwrap(), value.as_f64().unwrap());
            compared += 1;
        }
        assert!(compared >= 20, "{}: {compared} figures", path.display());
        let total =
            |tokens: fn(&Request) -> Option<u32>| run.requests.0.iter().filter_map(tokens).map(f64::from).sum::<f64>();
        assert_same("output tokens", total(|r| r.output_tokens), summary["total_output_tokens"].as_f64().unwrap());
        assert_same("input tokens", total(|r| r.prompt_tokens), summary["total_input_tokens"].as_f64().unwrap());
        let seconds = run.info.window.unwrap().length().unwrap().0;
        assert_same(
            "output throughput",
            total(|r| r.output_tokens) / seconds,
            summary["output_throughput"].as_f64().unwrap(),
        );
        assert_same("requests/s", run.requests.len() as f64 / seconds, summary["request_throughput"].as_f64().unwrap());
    }
}

#[test]
fn vllm_summaries_without_rows_are_reported_as_they_stand() {
    let Some(root) = artefacts() else { return };
    let mut files = Vec::new();
    walk(&root.join("metrics"), &|p| p.extension().is_some_and(|e| e == "json"), &mut files);
    for path in files {
        for run in read_recordings(&path).unwrap() {
            assert_eq!(run.info.detail, Detail::Summary, "{}", path.display());
            assert!(!run.info.reported.is_empty());
            assert!(run.info.reported.iter().all(|f| f.value.is_finite()));
        }
    }
    let failed = read_recordings(&root.join("metrics/vllm-0.25/bench_serve_all_requests_failed_v0.25.1.json")).unwrap();
    assert_eq!(figure(&failed[0], Metric::FailedShare, Stat::Total), 1.0);
    assert!(failed[0].info.reported.iter().all(|f| f.metric != Metric::Ttft));
    let one = json(&root.join("metrics/vllm-0.25/bench_serve_v0.25.1.json"));
    let run = &read_recordings(&root.join("metrics/vllm-0.25/bench_serve_v0.25.1.json")).unwrap()[0];
    assert_same(
        "p99 ttft",
        figure(run, Metric::Ttft, Stat::Quantile(0.99)) * 1e3,
        one["p99_ttft_ms"].as_f64().unwrap(),
    );
    // A sweep's folder repeats its runs in a collected file.
    let sweep = root.join("metrics/vllm-0.25/sweep/SERVE--max_num_seqs=4-BENCH--max_concurrency=2-num_prompts=8");
    assert_eq!(read_runs(&sweep).unwrap().len(), 2);
}

#[test]
fn aiperf_records_give_every_figure_of_the_files_summary() {
    let Some(root) = artefacts() else { return };
    let folder = root.join("bench/peers/aiperf");
    let summary = json(&folder.join("profile_export_aiperf.json"));
    let runs = read_recordings(&folder).unwrap();
    let [run] = &runs[..] else { panic!("one run") };
    let latencies = [
        ("time_to_first_token", between(run, |r| r.sent, |r| r.first_token)),
        ("request_latency", between(run, |r| r.sent, |r| r.done)),
        ("inter_token_latency", per_token(run)),
        ("inter_chunk_latency", gaps(run)),
        ("effective_latency", between(run, |r| r.intended, |r| r.done)),
        ("credit_to_start_latency", between(run, |r| r.intended, |r| r.sent)),
        ("decode_duration", between(run, |r| r.first_token, |r| r.done)),
    ];
    for (name, values) in latencies {
        let mut compared = 0;
        // The last two are written from microseconds in a float of a few digits.
        let coarse = matches!(name, "effective_latency" | "credit_to_start_latency");
        for (stat, value) in summary[name].as_object().unwrap() {
            let Some(ours) = statistic(&values, stat) else { continue };
            let theirs = value.as_f64().unwrap();
            let tolerance = if coarse { 1e-3 + theirs.abs() * 1e-6 } else { 5e-6 + theirs.abs() * 1e-9 };
            assert!((ours - theirs).abs() <= tolerance, "{name} {stat}: ours {ours}, the file's {theirs}");
            compared += 1;
        }
        assert!(compared >= 14, "{name}: {compared} figures");
    }
    let tokens: f64 = run.requests.0.iter().filter_map(|r| r.output_tokens).map(f64::from).sum();
    assert_same("tokens", tokens, summary["total_output_tokens"]["avg"].as_f64().unwrap());
    assert_eq!(run.info.tool, "aiperf 0.13.0");
}

fn figure(run: &Recording, metric: Metric, stat: Stat) -> f64 {
    let found = run.info.reported.iter().find(|f| f.metric == metric && f.stat == stat);
    found.unwrap_or_else(|| panic!("{metric} {stat} is not reported")).value
}

#[test]
fn aiperf_summaries_alone_are_reported_as_they_stand() {
    let Some(root) = artefacts() else { return };
    let mut files = vec![root.join("bench/peers/aiperf/profile_export_aiperf.json")];
    walk(&root.join("bench/aiperf_fixtures/unit"), &|p| p.ends_with("profile_export_aiperf.json"), &mut files);
    assert_eq!(files.len(), 4);
    for path in files {
        let summary = json(&path);
        let run = &read_recordings(&path).unwrap()[0];
        for (name, metric) in [("time_to_first_token", Metric::TtftFromSent), ("inter_token_latency", Metric::Tpot)] {
            let theirs = |stat: &str| summary[name][stat].as_f64().unwrap();
            assert_same(name, figure(run, metric, Stat::Mean) * 1e3, theirs("avg"));
            assert_same(name, figure(run, metric, Stat::Quantile(0.99)) * 1e3, theirs("p99"));
        }
    }
}

#[test]
fn guidellm_reports_agree_with_the_file_and_its_sampled_rows_with_themselves() {
    let Some(root) = artefacts() else { return };
    for (name, runs, detail) in [
        ("bench/peers/guidellm/benchmarks.json", 1, Detail::Sample { of: Some(160) }),
        ("bench/guidellm_report_v2.json", 2, Detail::Summary),
    ] {
        let report = json(&root.join(name));
        let recordings = read_recordings(&root.join(name)).unwrap();
        assert_eq!(recordings.len(), runs);
        for (run, benchmark) in recordings.iter().zip(report["benchmarks"].as_array().unwrap()) {
            assert_eq!(run.info.detail, detail);
            let metrics = &benchmark["metrics"];
            let theirs = |pointer: &str| metrics.pointer(pointer).unwrap().as_f64().unwrap();
            assert_same(
                "ttft",
                figure(run, Metric::TtftFromSent, Stat::Quantile(0.99)) * 1e3,
                theirs("/time_to_first_token_ms/successful/percentiles/p99"),
            );
            assert_same("e2e", figure(run, Metric::E2e, Stat::Mean), theirs("/request_latency/successful/mean"));
            assert_same(
                "itl",
                figure(run, Metric::Itl, Stat::Mean) * 1e3,
                theirs("/inter_token_latency_ms/successful/mean"),
            );
            let rows = benchmark["requests"]["successful"].as_array().unwrap();
            for row in rows {
                let ttft = row["time_to_first_token_ms"].as_f64().unwrap();
                let tpot = row["inter_token_latency_ms"].as_f64().unwrap();
                let found = run.requests.0.iter().any(|r| {
                    // Their doubles of Unix seconds resolve 0.24 µs.
                    (r.ttft_from_sent().unwrap().0 * 1e3 - ttft).abs() < 1e-3
                        && (r.tpot().unwrap().0 * 1e3 - tpot).abs() < 1e-3
                });
                assert!(found, "no row with a ttft of {ttft} ms and {tpot} ms a token");
            }
            assert_eq!(run.requests.in_window(run.info.window).count(), rows.len());
        }
    }
}

#[test]
fn inference_perf_and_sglang_reports_agree_with_their_files() {
    let Some(root) = artefacts() else { return };
    let perf = root.join("bench/peers/inference-perf");
    for name in [
        "ip-c16/stage_0_lifecycle_metrics.json",
        "ip-c16/summary_lifecycle_metrics.json",
        "upstream_demo_summary_lifecycle_metrics.json",
    ] {
        let summary = json(&perf.join(name));
        let run = &read_recordings(&perf.join(name)).unwrap()[0];
        let latency = &summary["successes"]["latency"];
        for (theirs, metric) in [
            ("time_to_first_token", Metric::Ttft),
            ("request_latency", Metric::E2e),
            ("time_per_output_token", Metric::Tpot),
            ("inter_token_latency", Metric::EventGap),
        ] {
            for (stat, ours) in [
                ("mean", Stat::Mean),
                ("median", Stat::Quantile(0.5)),
                ("p99", Stat::Quantile(0.99)),
                ("max", Stat::Max),
            ] {
                assert_same(theirs, figure(run, metric, ours), latency[theirs][stat].as_f64().unwrap());
            }
        }
    }
    let runs = read_runs(&perf.join("ip-c16")).unwrap();
    assert_eq!(runs.len(), 1, "the stage stands for the whole");
    let path = root.join("bench/peers/sglang-bench-rust/c16.jsonl");
    let (line, run) = (json(&path), &read_recordings(&path).unwrap()[0]);
    assert_same("ttft", figure(run, Metric::Ttft, Stat::Quantile(0.95)) * 1e3, line["p95_ttft_ms"].as_f64().unwrap());
    assert_same(
        "tpot",
        figure(run, Metric::Tpot, Stat::StandardDeviation) * 1e3,
        line["std_tpot_ms"].as_f64().unwrap(),
    );
    assert_same("e2e", figure(run, Metric::E2e, Stat::Mean) * 1e3, line["mean_e2e_latency_ms"].as_f64().unwrap());
    assert_same(
        "tokens/s",
        figure(run, Metric::OutputThroughput, Stat::Total),
        line["output_throughput"].as_f64().unwrap(),
    );
}

#[test]
fn every_real_page_is_read_without_an_unread_line() {
    let Some(root) = artefacts() else { return };
    let mut pages = Vec::new();
    let is_page = |p: &Path| {
        p.file_name().unwrap().to_str().unwrap().starts_with("metrics") && p.extension().is_some_and(|e| e == "txt")
    };
    walk(&root, &is_page, &mut pages);
    assert!(pages.len() > 30, "{}", pages.len());
    for path in pages {
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(firstcheck_ingest::detect_bytes(&bytes).unwrap().id, "metrics");
        let page = prometheus::parse(&bytes);
        assert_eq!(page.unread, [], "{}", path.display());
        let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#")).count();
        assert_eq!(page.samples.len(), lines, "{}", path.display());
        let mut series = prometheus::SeriesSet::default();
        series.add(&page, "main", Moment::at(0));
        let series = series.finish();
        for signal in [
            Signal::Running,
            Signal::KvCacheUsage,
            Signal::Preemptions,
            Signal::PrefixHits,
            Signal::QueueTime,
            Signal::Itl,
        ] {
            assert!(series.iter().any(|s| s.signal == Some(signal)), "{}: {}", path.display(), signal.name());
        }
    }
}

fn delta(run: &RunEvidence, signal: Signal) -> f64 {
    run.series(signal, Part::Value).map(|s| s.delta(run.info.window).unwrap().value).sum()
}

#[test]
fn folders_of_real_captures_show_preemptions_hits_and_the_kv_pool() {
    let Some(root) = artefacts() else { return };
    let gathered = gather(
        &[
            "c_kv_small_preempt",
            "c_kv_ample",
            "b_apc_on_shared_prefix",
            "b_apc_off_shared_prefix",
            "k_otlp",
            "f_old_baseline",
        ]
        .map(|name| root.join("engine").join(name)),
    );
    assert_eq!(gathered.unread, []);
    let [small, ample, on, off, otlp, old] = &gathered.runs[..] else { panic!("{} runs", gathered.runs.len()) };
    assert_eq!((delta(small, Signal::Preemptions), delta(ample, Signal::Preemptions)), (29.0, 0.0));
    let capacity = |run: &RunEvidence| {
        let of = |name| run.info.fingerprint.number(name).unwrap();
        of(field::KV_BLOCKS) * of(field::KV_BLOCK_SIZE)
    };
    assert!(capacity(small) < capacity(ample));
    let rate = |run: &RunEvidence| delta(run, Signal::PrefixHits) / delta(run, Signal::PrefixQueries);
    assert!(rate(on) > 0.5, "{}", rate(on));
    assert_eq!(delta(off, Signal::PrefixHits), 0.0);
    assert_eq!(small.info.fingerprint.get(field::ENGINE_VERSION), Some("0.32.0"));
    assert_eq!(old.info.fingerprint.get(field::ENGINE_VERSION), Some("0.16.0"));
    assert_eq!(small.info.fingerprint.get(field::MODEL), Some("tiny"));
    // Pages of further steps lie beside these two.
    assert_eq!(delta(otlp, Signal::GenerationTokens), 736.0, "between `few` and `main`");
    assert_eq!(delta(old, Signal::GenerationTokens), 2656.0, "between `before` and `main`, not `probe`");
}

#[test]
fn real_files_in_an_archive_are_read_as_those_of_the_folder_are() {
    let Some(root) = artefacts() else { return };
    for folder in ["engine/a_baseline_e1", "engine/e_maxlen_over_model", "metrics", "logs"] {
        let folder = root.join(folder);
        let mut files = Vec::new();
        walk(&folder, &|_| true, &mut files);
        let below = |path: &Path| path.strip_prefix(&folder).unwrap().display().to_string();
        let contents: Vec<(String, Vec<u8>)> =
            files.iter().map(|path| (below(path), std::fs::read(path).unwrap())).collect();
        let entries: Vec<(&str, &[u8])> = contents.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
        let packed = crate::collect::gzip(&crate::collect::tar(&entries));
        let in_archive = crate::collect::stream(&packed, &Limits::default());
        let in_folder = collect(vec![Input::Path(folder.clone())], &Limits::default());
        let facts = |collected: &firstcheck_ingest::Collected, prefix: &str| {
            let bare = |path: &str| path.strip_prefix(prefix).unwrap_or(path).trim_start_matches('/').to_owned();
            let read = collected.read.iter().map(|row| (bare(&row.path), row.format.clone(), row.rows));
            let unread = collected.unread.iter().map(|one| (bare(&one.path), one.reason.clone(), 0));
            let mut facts: Vec<_> = read.chain(unread).collect();
            facts.sort();
            facts
        };
        assert_eq!(facts(&in_archive, "-!"), facts(&in_folder, folder.to_str().unwrap()), "{}", folder.display());
    }
}

#[test]
fn every_real_file_is_read_or_named_with_the_reason() {
    let Some(root) = artefacts() else { return };
    let mut files = Vec::new();
    walk(&root, &|_| true, &mut files);
    let collected = collect(vec![Input::Path(root)], &Limits::default());
    let named = |path: &Path| {
        let name = path.display().to_string();
        collected.read.iter().any(|row| row.path == name) || collected.unread.iter().any(|one| one.path == name)
    };
    for path in &files {
        assert!(named(path), "{}", path.display());
    }
    // What nobody knows would stand here.
    let unknown = |reason: &str| reason.contains("no known format") || reason.contains("malformed");
    let lost: Vec<_> = collected.unread.iter().filter(|one| unknown(&one.reason)).collect();
    assert!(lost.is_empty(), "{lost:?}");
    assert!(collected.read.len() > 110 && files.len() > 400, "{} of {}", collected.read.len(), files.len());
}
