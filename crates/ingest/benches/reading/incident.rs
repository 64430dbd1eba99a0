//! A folder as an incident leaves it: logs, a metrics history, spans, a benchmark's result, and small answers.

use crate::{log::Log, measured::write, pages::Pages};
use std::{fmt::Write as _, fs, io, path::Path};

/// Writes one of about that size.
pub fn incident(folder: &Path, megabytes: u64) -> io::Result<()> {
    write(&folder.join("server.log"), &mut Log::new(), megabytes * 2 / 5)?;
    write(&folder.join("metrics.txt"), &mut Pages::new(), megabytes * 3 / 10)?;
    write(&folder.join("collected.log"), &mut Log::collected(), megabytes / 10)?;
    write(&folder.join("spans.jsonl"), &mut (0..).map(spans), megabytes / 10)?;
    fs::write(folder.join("bench.json"), result(megabytes / 10))?;
    fs::write(folder.join("version.json"), r#"{"version":"0.32.0"}"#)
}

/// What an exporter sends at once: spans of a hundred requests.
fn spans(export: u64) -> String {
    let of_request = |request: u64| {
        let id = export * 100 + request;
        let start = 1_700_000_000_000_000_000 + id * 25_000_000;
        format!(
            r#"{{"traceId":"{id:032x}","spanId":"{id:016x}","name":"llm_request","kind":2,"startTimeUnixNano":"{start}","endTimeUnixNano":"{}","attributes":[{{"key":"gen_ai.latency.time_in_queue","value":{{"doubleValue":0.{request:03}}}}},{{"key":"gen_ai.latency.time_to_first_token","value":{{"doubleValue":0.2{request:03}}}}},{{"key":"gen_ai.latency.time_in_model_prefill","value":{{"doubleValue":0.15}}}},{{"key":"gen_ai.latency.time_in_model_decode","value":{{"doubleValue":1.5}}}},{{"key":"gen_ai.usage.prompt_tokens","value":{{"intValue":"{}"}}}},{{"key":"gen_ai.usage.completion_tokens","value":{{"intValue":"64"}}}}]}}"#,
            start + 1_800_000_000,
            100 + id * 37 % 4_000
        )
    };
    let all: Vec<String> = (0..100).map(of_request).collect();
    format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"engine"}}}}]}},"scopeSpans":[{{"spans":[{}]}}]}}]}}"#,
        all.join(",")
    ) + "\n"
}

/// A result of `vllm bench serve --save-detailed` of about that size.
fn result(megabytes: u64) -> String {
    const TOKENS: u64 = 64;
    let gaps = |row: u64| {
        let gap = |token: u64| format!("0.0{}", 10_000_001 + (row * 7919 + token * 104_729) % 9_000_000);
        format!("[{}]", (1..TOKENS).map(gap).collect::<Vec<_>>().join(", "))
    };
    let requests = (megabytes * 1_000_000 / (gaps(0).len() as u64 + 60)).max(1);
    let list = |of: &dyn Fn(u64) -> String| format!("[{}]", (0..requests).map(of).collect::<Vec<_>>().join(", "));
    let mut text = format!(
        r#"{{"date": "20300101-000000", "backend": "openai", "model_id": "toy", "num_prompts": {requests}, "request_rate": 40.0, "burstiness": 1.0, "max_concurrency": null, "duration": {}.0, "completed": {requests}, "failed": 0, "request_throughput": 40.0, "output_throughput": 2560.0, "mean_ttft_ms": 220.0"#,
        requests / 40 + 2
    );
    let columns: [(&str, &dyn Fn(u64) -> String); 6] = [
        ("input_lens", &|row| (100 + row * 37 % 4_000).to_string()),
        ("output_lens", &|_| TOKENS.to_string()),
        ("ttfts", &|row| format!("0.2{:04}", row * 31 % 10_000)),
        ("start_times", &|row| format!("{:.3}", 100.0 + row as f64 / 40.0)),
        ("errors", &|_| "\"\"".into()),
        ("itls", &gaps),
    ];
    for (name, of) in columns {
        let _ = write!(text, ", \"{name}\": {}", list(of));
    }
    text + "}\n"
}
