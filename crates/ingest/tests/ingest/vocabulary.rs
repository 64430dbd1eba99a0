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
        ("vllm:time_in_queue_requests_count", Some(Signal::QueueTime)),
        ("vllm:external_prefix_cache_hits_total", Some(Signal::ExternalHits)),
        ("vllm:nixl_xfer_time_seconds_bucket", Some(Signal::KvTransferTime)),
        ("vllm:mooncake_bytes_transferred_sum", Some(Signal::KvTransferBytes)),
        ("vllm:nixl_num_failed_transfers_total", Some(Signal::KvTransferFailures)),
        ("vllm:kv_offload_total_bytes_total", None),
        ("vllm:kv_offload_load_size_sum", Some(Signal::KvLoadSize)),
        ("vllm:kv_offload_load_time_total", Some(Signal::KvLoadBusy)),
        ("vllm:num_requests_waiting_by_reason", None),
        ("sglang:dp_attention_sync_wait_seconds_sum", Some(Signal::RankWait)),
        ("sglang:prefill_delayer_wait_seconds_sum", Some(Signal::PrefillDelay)),
        ("vllm:gpu_prefix_cache_hit_rate", None),
        ("vllm:num_requests_swapped", None),
        ("sglang:kv_transfer_latency_ms_sum", Some(Signal::KvTransferTime)),
        ("sglang:kv_transfer_latency_ms", None),
        ("sglang:load_back_tokens_total", Some(Signal::KvLoadedTokens)),
        ("sglang:cache_hit_rate", None),
        ("lmcache:num_stored_tokens_total", Some(Signal::KvStoredTokens)),
        ("lmcache:time_to_retrieve_sum", Some(Signal::KvLoadTime)),
        ("lmcache:retrieve_hit_rate", None),
        ("trtllm_spec_decode_num_accepted_tokens_total", Some(Signal::AcceptedTokens)),
        ("trtllm_request_success_total", Some(Signal::Finished)),
        ("tgi_request_failure", Some(Signal::Failed)),
        ("llamacpp:kv_cache_usage_ratio", Some(Signal::KvCacheUsage)),
        ("llamacpp:spec_decode_num_drafts_total", Some(Signal::Drafts)),
        ("dynamo_frontend_input_sequence_tokens_count", Some(Signal::PromptLength)),
        ("dynamo_component_gpu_cache_usage_percent", Some(Signal::KvCacheUsage)),
        ("container_memory_rss", Some(Signal::ContainerRss)),
        ("namedprocess_namegroup_memory_bytes", None),
        ("DCGM_FI_DEV_SM_CLOCK", Some(Signal::GpuSmClock)),
        ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", Some(Signal::GpuThrottleReasons)),
        ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", Some(Signal::GpuThrottleReasons)),
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

/// Signals of series in the order of the page.
fn signals(text: &str) -> Vec<Option<Signal>> {
    series(text).iter().map(|series| series.signal).collect()
}

#[test]
fn memory_of_containers_counts_each_container_once() {
    let page = "# TYPE container_memory_rss gauge\n\
                container_memory_rss{container=\"\",id=\"/\"} 90\n\
                container_memory_rss{container=\"\",id=\"/kubepods/pod1\",pod=\"vllm-0\"} 60\n\
                container_memory_rss{container=\"POD\",pod=\"vllm-0\"} 1\n\
                container_memory_rss{container=\"engine\",pod=\"vllm-0\"} 50\n\
                container_memory_rss{name=\"vllm-1\",image=\"vllm\"} 50\n\
                # TYPE container_memory_swap gauge\n\
                container_memory_swap{container=\"engine\",pod=\"vllm-0\"} 5\n";
    let rss = Some(Signal::ContainerRss);
    assert_eq!(signals(page), [None, None, None, rss, rss, Some(Signal::ContainerSwap)]);
}

#[test]
fn a_label_tells_what_a_family_of_several_kinds_means() {
    let page = "# TYPE namedprocess_namegroup_memory_bytes gauge\n\
                namedprocess_namegroup_memory_bytes{groupname=\"vllm\",memtype=\"resident\"} 3\n\
                namedprocess_namegroup_memory_bytes{groupname=\"vllm\",memtype=\"swapped\"} 2\n\
                namedprocess_namegroup_memory_bytes{groupname=\"vllm\",memtype=\"virtual\"} 9\n\
                # TYPE vllm:kv_offload_total_bytes_total counter\n\
                vllm:kv_offload_total_bytes_total{transfer_type=\"CPU_to_GPU\"} 7\n\
                vllm:kv_offload_total_bytes_total{transfer_type=\"GPU_to_CPU\"} 8\n";
    let found = [
        Some(Signal::ProcessMemory),
        Some(Signal::ProcessSwap),
        None,
        Some(Signal::KvLoadedBytes),
        Some(Signal::KvStoredBytes),
    ];
    assert_eq!(signals(page), found);
}

#[test]
fn a_connectors_counters_give_way_to_the_engines() {
    let lmcache = "# TYPE lmcache:num_lookup_hits_total counter\nlmcache:num_lookup_hits_total 5\n";
    let vllm = "# TYPE vllm:external_prefix_cache_hits_total counter\nvllm:external_prefix_cache_hits_total 5\n";
    assert_eq!(signals(lmcache), [Some(Signal::ExternalHits)]);
    assert_eq!(signals(&format!("{lmcache}{vllm}")), [None, Some(Signal::ExternalHits)]);
}

#[test]
fn state_of_gpus_keeps_which_gpu_and_host_it_is_of() {
    let page = "# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n\
                DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-a\",Hostname=\"h\"} 651.5\n\
                DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"GPU-b\",Hostname=\"h\"} 90.0\n";
    let (_dir, path) = crate::fixture::file("dcgm", page);
    let collected =
        firstcheck_ingest::collect(vec![firstcheck_ingest::Input::Path(path)], &firstcheck_ingest::Limits::default());
    assert_eq!(collected.read[0].replicas, ["Hostname=h,gpu=0", "Hostname=h,gpu=1"]);
    assert!(collected.not_understood.is_empty(), "{:?}", collected.not_understood);
}

#[test]
fn a_name_that_ends_in_a_unit_is_brought_to_the_signals() {
    let cases = [
        ("sglang:kv_transfer_latency_ms_sum", Part::Sum, 1e-3),
        ("sglang:kv_transfer_latency_ms_count", Part::Count, 1.0),
        ("sglang:kv_transfer_total_mb_bucket", Part::Bucket(1.0), 1_048_576.0),
        ("vllm:nixl_xfer_time_seconds_sum", Part::Sum, 1.0),
        ("lmcache:time_to_retrieve_sum", Part::Sum, 1.0),
    ];
    for (name, part, factor) in cases {
        let one = Series { name: name.into(), part, ..series("a_total 1\n").remove(0) };
        assert_eq!(one.unit_factor(), factor, "{name}");
    }
}
