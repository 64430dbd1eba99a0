//! Raw names onto signals.

use firstcheck_ingest::{
    prometheus::{SeriesSet, parse},
    vocabulary::{engine_of, meaning},
};
use firstcheck_model::{
    moment::Moment,
    signal::{Part, Series, SeriesKind, Signal},
};

fn series(text: &str) -> Vec<Series> {
    let mut set = SeriesSet::default();
    set.add(&parse(text.as_bytes()), "main", Moment::at(0));
    set.finish()
}

#[test]
fn names_of_every_engine_old_and_new_have_their_meaning() {
    let cases = [
        ("vllm:num_requests_running", Some(Signal::Running)),
        ("vllm:gpu_prefix_cache_hits_total", Some(Signal::PrefixHits)),
        ("vllm:time_per_output_token_seconds_sum", Some(Signal::Itl)),
        ("vllm:request_time_per_output_token_seconds_bucket", Some(Signal::Tpot)),
        ("vllm:iteration_tokens_total_count", Some(Signal::IterationTokens)),
        ("vllm:iteration_tokens_total", None),
        ("vllm:num_preemptions_created", None),
        ("sglang:num_queue_reqs", Some(Signal::Waiting)),
        ("sglang:queue_time_s_sum", Some(Signal::QueueTime)),
        ("sglang:num_retracted_reqs", None),
        ("trtllm_kv_cache_utilization", Some(Signal::KvCacheUsage)),
        ("tgi_request_queue_duration_sum", Some(Signal::QueueTime)),
        ("llamacpp:requests_deferred", Some(Signal::Waiting)),
        ("dynamo_frontend_time_to_first_token_seconds_count", Some(Signal::Ttft)),
        ("process_start_time_seconds", Some(Signal::ProcessStart)),
        ("my_own_metric", None),
    ];
    for (name, signal) in cases {
        assert_eq!(meaning(name), signal, "{name}");
    }
    assert_eq!(engine_of("sglang:x"), Some("sglang"));
    assert_eq!(engine_of("node_load1"), None);
}

#[test]
fn an_old_name_gives_way_to_the_new_one_on_the_same_page() {
    let both = series(
        "# TYPE vllm:gpu_prefix_cache_hits_total counter\nvllm:gpu_prefix_cache_hits_total 5\n\
         # TYPE vllm:prefix_cache_hits_total counter\nvllm:prefix_cache_hits_total 5\n",
    );
    let carriers: Vec<&str> =
        both.iter().filter(|s| s.signal == Some(Signal::PrefixHits)).map(|s| s.name.as_str()).collect();
    assert_eq!(carriers, ["vllm:prefix_cache_hits_total"]);
    let alone = series("# TYPE vllm:gpu_prefix_cache_hits_total counter\nvllm:gpu_prefix_cache_hits_total 5\n");
    assert_eq!(alone[0].signal, Some(Signal::PrefixHits));
}

#[test]
fn a_routers_copy_of_an_engines_name_is_not_the_engine() {
    let router = series("# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{server=\"http://a\"} 3\n");
    assert_eq!(router[0].signal, None);
}

#[test]
fn a_page_without_types_gets_kind_and_part_from_the_table() {
    let found =
        series("vllm:e2e_request_latency_seconds_sum 3\nvllm:num_requests_waiting 1\nvllm:prompt_tokens_total 9\n");
    let facts: Vec<_> = found.iter().map(|s| (s.part, s.kind)).collect();
    assert_eq!(
        facts,
        [(Part::Sum, SeriesKind::Counter), (Part::Value, SeriesKind::Gauge), (Part::Value, SeriesKind::Counter)]
    );
}
