//! The metrics page.

use crate::play::{Play, prompt, small};
use firstcheck_sim::{EngineConfig, emit::metrics};
use std::collections::BTreeMap;

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

#[test]
fn names_types_and_bounds_are_those_of_a_real_page() {
    let Some(root) = std::env::var_os("FIRSTCHECK_ARTEFACTS") else {
        eprintln!("SKIPPED: FIRSTCHECK_ARTEFACTS is not set, no real metrics page to compare with");
        return;
    };
    let path = std::path::Path::new(&root).join("engine/a_baseline_e1/metrics.after.main.txt");
    let real = std::fs::read_to_string(path).unwrap();
    let config = EngineConfig { model_name: "tiny".into(), max_model_len: 8192, ..EngineConfig::default() };
    let engine = firstcheck_sim::Engine::new(config, 0).unwrap();
    let ours = metrics::page(&engine, &PROCESS);
    let types = |page: &str| -> BTreeMap<String, String> {
        let lines = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        lines.filter_map(|line| line.split_once(' ')).map(|(n, t)| (n.to_owned(), t.to_owned())).collect()
    };
    let real_types = types(&real);
    for (name, kind) in types(&ours) {
        assert_eq!(real_types.get(&name), Some(&kind), "{name}");
    }
    let series: std::collections::BTreeSet<String> = parse(&real).into_keys().collect();
    for name in parse(&ours).into_keys().filter(|name| !name.contains("cache_config_info")) {
        assert!(series.contains(&name), "{name} is not on the real page");
    }
}
