//! The metrics page.

use crate::{
    play::{Play, prompt, small},
    real::artefact,
};
use firstcheck_sim::{
    Engine, EngineConfig,
    emit::{features::RecentHits, metrics, version::Version},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    process::{Command, Stdio},
};

const PROCESS: metrics::Process = metrics::Process { start_unix_seconds: 1.5, resident_bytes: Some(2e9) };

/// Values by series as the page writes them.
fn parse(page: &str) -> BTreeMap<String, f64> {
    page.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').expect("a series and a value");
            (series.to_owned(), value.parse().expect("a number"))
        })
        .collect()
}

fn played() -> Play {
    let mut play = Play::new(EngineConfig { num_gpu_blocks: 33, max_num_batched_tokens: 128, ..small() });
    for tag in 1..=3 {
        play.submit(tag, prompt(tag as u32, 40), 30);
    }
    play
}

#[test]
fn the_page_agrees_with_what_happened() {
    let mut play = played();
    play.run();
    let page = parse(&metrics::page(&play.engine, &PROCESS));
    let value = |name: &str| page[&format!("vllm:{name}{{engine=\"0\",model_name=\"llama-3.1-8b\"}}")];
    let sum = |get: fn(&firstcheck_sim::Life) -> i64| {
        play.finished.iter().map(|ended| get(&ended.life)).sum::<i64>() as f64 * 1e-9
    };
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} against {b}");
    close(value("request_queue_time_seconds_sum"), sum(|life| life.scheduled_ns.unwrap() - life.queued_ns));
    close(
        value("request_prefill_time_seconds_sum"),
        sum(|life| life.first_token_ns.unwrap() - life.scheduled_ns.unwrap()),
    );
    close(
        value("request_decode_time_seconds_sum"),
        sum(|life| life.last_token_ns.unwrap() - life.first_token_ns.unwrap()),
    );
    close(value("inter_token_latency_seconds_sum"), value("request_decode_time_seconds_sum"));
    close(value("time_to_first_token_seconds_sum"), sum(|life| life.first_token_ns.unwrap() - life.arrival_ns));
    assert_eq!(value("inter_token_latency_seconds_count"), 87.0);
    assert_eq!(value("generation_tokens_total"), 90.0);
    assert_eq!(value("prompt_tokens_total"), 120.0);
    assert_eq!(value("num_preemptions_total"), play.engine.stats().preemptions as f64);
    assert_eq!(value("iteration_tokens_total_sum"), 210.0);
    assert_eq!(value("num_requests_running"), 0.0);
    let finished = "vllm:request_success_total{engine=\"0\",finished_reason=\"length\",model_name=\"llama-3.1-8b\"}";
    assert_eq!(page[finished], 3.0);
    assert_eq!(page["process_start_time_seconds"], 1.5);
}

#[test]
fn levels_show_the_last_finished_step() {
    let mut play = played();
    play.step();
    let value = |play: &Play, name: &str| {
        parse(&metrics::page(&play.engine, &PROCESS))
            [&format!("vllm:{name}{{engine=\"0\",model_name=\"llama-3.1-8b\"}}")]
    };
    assert_eq!(value(&play, "num_requests_running"), 3.0);
    assert!((value(&play, "kv_cache_usage_perc") - 30.0 / 32.0).abs() < 1e-12);
    let end = play.engine.begin_step(play.now).unwrap();
    assert!((value(&play, "kv_cache_usage_perc") - 30.0 / 32.0).abs() < 1e-12, "a step in hand does not show");
    play.engine.finish_step(end);
    let after = value(&play, "kv_cache_usage_perc");
    assert!((after - 22.0 / 32.0).abs() < 1e-12, "all three need a block, two are left: the last is thrown out");
    assert_eq!(value(&play, "num_requests_waiting"), 1.0);
}

#[test]
fn buckets_are_cumulative_and_end_with_infinity() {
    let mut play = played();
    play.run();
    let page = metrics::page(&play.engine, &PROCESS);
    let buckets: Vec<(String, f64)> = page
        .lines()
        .filter(|line| line.starts_with("vllm:time_to_first_token_seconds_bucket"))
        .map(|line| {
            let le = line.split("le=\"").nth(1).unwrap().split('"').next().unwrap();
            (le.to_owned(), line.rsplit(' ').next().unwrap().parse().unwrap())
        })
        .collect();
    assert_eq!(buckets.len(), 23);
    assert!(buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    assert_eq!(buckets.first().unwrap().0, "0.001");
    assert_eq!(buckets.last().unwrap(), &("+Inf".to_owned(), 3.0));
}

/// A page as it describes itself: help and type of each family, and all series without their values.
struct Described {
    families: BTreeMap<String, [String; 2]>,
    series: BTreeSet<String>,
}

fn describe(page: &str) -> Described {
    let mut families: BTreeMap<String, [String; 2]> = BTreeMap::new();
    for line in page.lines() {
        for (place, prefix) in ["# HELP ", "# TYPE "].into_iter().enumerate() {
            if let Some((name, text)) = line.strip_prefix(prefix).and_then(|rest| rest.split_once(' ')) {
                families.entry(name.to_owned()).or_default()[place] = text.to_owned();
            }
        }
    }
    Described { families, series: parse(page).into_keys().collect() }
}

fn idle(version: &str, model: &str, max_model_len: u32) -> Engine {
    let config =
        EngineConfig { model_name: model.into(), version: version.into(), max_model_len, ..EngineConfig::default() };
    Engine::new(config, 0).unwrap()
}

/// Real pages by version: file, model name, longest sequence.
const REAL: [(&str, &str, &str, u32); 3] = [
    ("0.16.0", "engine/f_old_baseline/metrics.after.main.txt", "tiny", 8192),
    ("0.25.1", "metrics/vllm-0.25/metrics_vllm_0_25_1_loaded.txt", "opt-125m-tp2", 2048),
    ("0.32.0", "engine/a_baseline_e1/metrics.after.main.txt", "tiny", 8192),
];

#[test]
fn every_family_and_series_is_on_the_real_page_of_that_version() {
    for (version, file, model, max_model_len) in REAL {
        let Some(real) = artefact(file) else { return };
        let real = describe(&real);
        let ours = describe(&metrics::page(&idle(version, model, max_model_len), &PROCESS));
        for (name, described) in &ours.families {
            assert_eq!(real.families.get(name), Some(described), "{version}: {name}");
        }
        for series in ours.series.iter().filter(|series| !series.contains("cache_config_info")) {
            assert!(real.series.contains(series), "{version}: {series} is not on the real page");
        }
        let theirs = |name: &&String| name.starts_with("vllm:") && !name.ends_with("_created");
        let missing: Vec<_> =
            real.families.keys().filter(theirs).filter(|name| !ours.families.contains_key(*name)).collect();
        assert!(missing.is_empty(), "{version}: the real page also has {missing:?}");
    }
}

#[test]
fn labels_of_the_cache_are_on_the_real_page_of_that_version() {
    let labels = |page: &str| -> BTreeSet<String> {
        let line = page.lines().find(|line| line.starts_with("vllm:cache_config_info{")).expect("a line");
        let inside = line.split(['{', '}']).nth(1).expect("labels");
        inside.split("\",").filter_map(|pair| pair.split_once('=')).map(|(name, _)| name.to_owned()).collect()
    };
    for (version, file, model, max_model_len) in REAL {
        let Some(real) = artefact(file) else { return };
        let (real, ours) = (labels(&real), labels(&metrics::page(&idle(version, model, max_model_len), &PROCESS)));
        assert!(ours.is_subset(&real), "{version}: {:?}", ours.difference(&real).collect::<Vec<_>>());
    }
}

/// Kinds of complaint of a real `promtool`, without the names they are about; `None` when there is none to ask.
fn lint(page: &str) -> Option<BTreeSet<String>> {
    let command =
        Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match command {
        Ok(child) => child,
        Err(error) => {
            eprintln!("SKIPPED: promtool cannot be run ({error}), the page is not linted");
            return None;
        }
    };
    child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_ne!(output.status.code(), Some(1), "not parsed: {text}");
    Some(text.lines().filter_map(|line| line.split_once(' ')).map(|(_, kind)| kind.to_owned()).collect())
}

#[test]
fn promtool_has_no_complaint_that_a_real_page_does_not_draw() {
    for (version, file, model, max_model_len) in REAL {
        let Some(ours) = lint(&metrics::page(&idle(version, model, max_model_len), &PROCESS)) else { return };
        let Some(real) = artefact(file) else { return };
        let real = lint(&real).unwrap();
        assert!(ours.is_subset(&real), "{version}: {:?}", ours.difference(&real).collect::<Vec<_>>());
        assert!(!real.is_empty(), "{version}: the engine's own colons are complained about");
    }
}

#[test]
fn the_printed_share_of_hits_covers_about_the_last_thousand_lookups() {
    let mut recent = RecentHits::default();
    assert_eq!(recent.share(), 0.0);
    for _ in 0..100 {
        recent.observe(10, 1000, 0);
    }
    recent.observe(0, 1 << 40, 1 << 40);
    assert_eq!(recent.share(), 0.0, "a step without lookups does not count");
    for _ in 0..50 {
        recent.observe(10, 1000, 1000);
    }
    assert_eq!(recent.share(), 0.5, "half of the last thousand");
    recent.observe(5000, 100, 0);
    assert_eq!(recent.share(), 0.0, "the latest step stays, however large");
}

#[test]
fn releases_are_read_as_engines_write_them() {
    let read = |text: &str| Version::read(text).map(|version| version.to_string());
    for (text, version) in [
        ("0.32.0", "0.32.0"),
        ("v0.10.1.1", "0.10.1"),
        ("0.6.6.post1", "0.6.6"),
        ("0.29.1rc1.dev339+gda9888462", "0.29.1"),
        ("1", "1.0.0"),
    ] {
        assert_eq!(read(text).as_deref(), Some(version), "{text}");
    }
    assert_eq!(read("main"), None);
    assert!(Version::new(0, 9, 2) < Version::new(0, 10, 0));
}
