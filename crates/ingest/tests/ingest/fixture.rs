//! Small inputs, written for these tests.

use std::{fs, path::PathBuf};
use tempfile::TempDir;

/// A folder that goes with the test.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, content) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    dir
}

/// A single file, with the folder that holds it.
pub fn file(name: &str, content: &str) -> (TempDir, PathBuf) {
    let dir = folder(&[(name, content)]);
    let path = dir.path().join(name);
    (dir, path)
}

/// Three requests of `vllm bench serve`: two answered (the second in three events for four tokens), one refused.
pub const VLLM: &str = r#"{
  "date": "20300101-000000", "endpoint_type": "openai", "backend": "openai", "model_id": "toy", "num_prompts": 3,
  "request_rate": 2.0, "burstiness": 4.0, "max_concurrency": null, "duration": 4.0, "completed": 2, "failed": 1,
  "request_throughput": 0.5, "output_throughput": 1.5,
  "input_lens": [10, 20, 30], "output_lens": [2, 4, 0],
  "ttfts": [0.1, 0.2, 0.0], "itls": [[0.05], [0.01, 0.03], []],
  "start_times": [100.0, 100.5, 101.0],
  "generated_texts": ["a b", "c d e f", ""],
  "errors": ["", "", "Traceback (most recent call last):\n  File \"x\"\nTooManyRequests: Too Many Requests"],
  "mean_ttft_ms": 150.0, "median_ttft_ms": 150.0, "p99_ttft_ms": 199.0
}"#;

/// The same client without `--save-detailed`.
pub const VLLM_SUMMARY: &str = r#"{"num_prompts": 4, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 2,
  "duration": 2.0, "completed": 3, "failed": 1, "request_throughput": 1.5, "output_throughput": 24.0,
  "mean_ttft_ms": 20.0, "median_ttft_ms": 18.0, "p50_ttft_ms": 18.0, "p99.9_ttft_ms": 31.0, "std_itl_ms": 1.0,
  "mean_itl_ms": 10.0, "mean_tpot_ms": 9.0, "mean_e2el_ms": 300.0}"#;

pub const SGLANG: &str = concat!(
    r#"{"backend":"sglang","dataset_name":"random","request_rate":"inf","max_concurrency":8,"duration":2.0,"completed":5,"#,
    r#""request_throughput":2.5,"output_throughput":50.0,"mean_e2e_latency_ms":400.0,"p99_e2e_latency_ms":500.0,"mean_ttft_ms":50.0,"#,
    r#""median_ttft_ms":40.0,"mean_tpot_ms":NaN,"mean_itl_ms":11.0,"p95_itl_ms":12.0}"#,
    "\n",
    r#"{"backend":"vllm","dataset_name":"random","request_rate":4.0,"max_concurrency":null,"duration":2.0,"completed":5,"#,
    r#""request_throughput":2.5,"output_throughput":50.0,"mean_e2e_latency_ms":400.0,"mean_ttft_ms":50.0,"mean_itl_ms":11.0}"#,
    "\n"
);

/// Two requests in the order of completion (the second credit ended first) and a refused one.
pub const AIPERF: &str = concat!(
    r#"{"metadata":{"session_num":1,"credit_issued_ns":1000000500000000,"request_start_ns":1000000510000000,"#,
    r#""request_ack_ns":1000000520000000,"request_end_ns":1000000700000000,"benchmark_phase":"profiling","was_cancelled":false},"#,
    r#""metrics":{"time_to_first_token":{"value":40.0,"unit":"ms"},"request_latency":{"value":190.0,"unit":"ms"},"#,
    r#""output_sequence_length":{"value":3,"unit":"tokens"},"input_sequence_length":{"value":7,"unit":"tokens"},"#,
    r#""inter_chunk_latency":{"value":[50.0,100.0],"unit":"ms"}},"error":null}"#,
    "\n",
    r#"{"metadata":{"session_num":0,"credit_issued_ns":1000000000000000,"request_start_ns":1000000002000000,"#,
    r#""request_end_ns":1000000900000000,"benchmark_phase":"profiling"},"#,
    r#""metrics":{"time_to_first_token":{"value":20.0,"unit":"ms"},"output_sequence_length":{"value":2,"unit":"tokens"},"#,
    r#""inter_chunk_latency":{"value":[880.0],"unit":"ms"}}}"#,
    "\n",
    r#"{"metadata":{"session_num":2,"credit_issued_ns":1000000600000000,"request_start_ns":1000000600000000,"#,
    r#""request_end_ns":1000000610000000,"benchmark_phase":"profiling"},"metrics":{},"#,
    r#""error":{"code":429,"type":"HTTPError","message":"slow down"}}"#,
    "\n"
);

pub const AIPERF_SUMMARY: &str = r#"{"aiperf_version":"9.9","was_cancelled":false,"error_summary":[],
  "input_config":{"models":{"items":[{"name":"toy"}]},"endpoint":{"streaming":true},
                  "phases":[{"type":"concurrency","requests":3,"concurrency":2}]},
  "request_count":{"unit":"requests","avg":2.0},
  "request_latency":{"unit":"ms","avg":500.0,"p99":900.0,"count":2},
  "time_to_first_token":{"unit":"ms","avg":30.0,"p50":30.0,"std":10.0,"count":2},
  "inter_token_latency":{"unit":"ms","avg":475.0,"count":2},
  "inter_chunk_latency":{"unit":"ms","avg":343.3,"count":3},
  "output_token_throughput":{"unit":"tokens/sec","avg":5.5},
  "benchmark_duration":{"unit":"sec","avg":0.9}}"#;

/// One benchmark of two requests of which one is kept, and one without any.
pub const GUIDELLM: &str = r#"{"metadata":{"version":2,"guidellm_version":"0.9"},
 "config":{"spec":{"backend":{"model":"toy"},"seed":{"kind":"static","value":7}}},
 "benchmarks":[
  {"config":{"strategy":{"type_":"poisson","rate":2.5},"backend":{"model":"toy","stream":true}},
   "start_time":1000.0,"duration":2.0,"warnings":[{"code":"x","message":"slow client"}],
   "metrics":{"request_totals":{"successful":2,"errored":0,"incomplete":0,"total":2},
     "time_to_first_token_ms":{"successful":{"mean":50.0,"count":2,"percentiles":{"p01":40.0,"p99":60.0,"p999":61.0}}},
     "request_latency":{"successful":{"mean":1.0,"count":2,"percentiles":{"p50":1.0}}},
     "output_token_count":{"successful":{"std_dev":1.5}},
     "inter_token_latency_ms":{"successful":{"mean":10.0,"count":18,"percentiles":{"p50":10.0}}},
     "requests_per_second":{"successful":{"mean":1.0}},"output_tokens_per_second":{"successful":{"mean":10.0}}},
   "requests":{"successful":[{"info":{"status":"completed","error":null,"timings":{"targeted_start":999.999,
      "request_start":1000.004,"first_request_iteration":1000.05,"first_token_iteration":1000.054,
      "last_token_iteration":1000.144,"request_end":1000.15}},"prompt_tokens":5,"output_tokens":10}],
      "errored":[],"incomplete":null,"total":null}},
  {"config":{"strategy":{"type_":"concurrent","streams":3}},"metrics":{"request_totals":{"successful":0,"errored":4,
      "incomplete":0,"total":4}},"requests":{"successful":[],"errored":[],"incomplete":[]}}]}"#;

pub const INFERENCE_PERF_STAGE: &str = r#"{"benchmark_time_seconds":3.0,
 "load_summary":{"count":9,"schedule_delay":{"mean":0.002,"p99":0.01},"requested_rate":3.0,"achieved_rate":2.9},
 "successes":{"count":8,"latency":{"request_latency":{"mean":1.5,"p99.9":2.0},"time_per_output_token":{"median":0.01},
   "time_to_first_token":{"mean":0.1,"p95":0.2},"inter_token_latency":{"mean":0.011}},
   "throughput":{"input_tokens_per_sec":30.0,"output_tokens_per_sec":20.0,"requests_per_sec":2.7}},
 "failures":{"count":1}}"#;

pub const INFERENCE_PERF_WHOLE: &str = r#"{"load_summary":{"count":9,"schedule_delay":{"mean":0.002}},
 "successes":{"count":8,"latency":{"request_latency":{"mean":1.5}},"throughput":{}},"failures":{"count":1}}"#;

/// A page of the engine after `tokens` generated tokens in `requests` requests.
pub fn page(tokens: u32, requests: u32, preemptions: u32) -> String {
    format!(
        "# HELP process_start_time_seconds Start.\n# TYPE process_start_time_seconds gauge\n\
         process_start_time_seconds 1.5e+09\n\
         # TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total{{engine=\"0\",model_name=\"toy\"}} {tokens}.0\n\
         # TYPE vllm:request_success_total counter\n\
         vllm:request_success_total{{engine=\"0\",finished_reason=\"length\",model_name=\"toy\"}} {requests}.0\n\
         # TYPE vllm:num_preemptions_total counter\nvllm:num_preemptions_total{{engine=\"0\",model_name=\"toy\"}} {preemptions}.0\n\
         # TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc{{engine=\"0\",model_name=\"toy\"}} 0.5\n\
         # TYPE vllm:cache_config_info gauge\n\
         vllm:cache_config_info{{block_size=\"16\",cache_dtype=\"auto\",enable_prefix_caching=\"True\",engine=\"0\",\
         num_gpu_blocks=\"128\",num_cpu_blocks=\"None\"}} 1.0\n"
    )
}
