//! What a file is, by its content.

use crate::fixture::{self, file, folder};
use firstcheck_ingest::{Error, Limits, detect_bytes, formats, read_runs, read_runs_within};

#[test]
fn content_decides_whatever_the_name() {
    let page = fixture::page(1, 1, 0);
    let listed = format!("[{}]", fixture::VLLM);
    let twice = format!("{}\n{}", fixture::VLLM, fixture::VLLM_SUMMARY);
    let cases: [(&str, Option<&str>); 21] = [
        (fixture::VLLM, Some("vllm-bench")),
        (fixture::VLLM_SUMMARY, Some("vllm-bench")),
        (&listed, Some("vllm-bench")),
        (&twice, Some("vllm-bench")),
        (fixture::SGLANG, Some("sglang-bench")),
        (fixture::AIPERF, Some("aiperf-records")),
        (fixture::AIPERF_SUMMARY, Some("aiperf-summary")),
        (fixture::GUIDELLM, Some("guidellm")),
        (fixture::INFERENCE_PERF_STAGE, Some("inference-perf")),
        (fixture::INFERENCE_PERF_WHOLE, Some("inference-perf")),
        (&page, Some("metrics")),
        (r#"{"version":"1.2"}"#, Some("version")),
        (r#"{"object":"list","data":[{"id":"toy"}]}"#, Some("models")),
        (r#"{"vllm_config":{}}"#, Some("server-info")),
        ("{\"prompt\":\"a b\",\"output_tokens\":4}\n{\"prompt\":\"a c\"}\n", Some("prompts")),
        (r#"{"token_ids":[1,2,3]}"#, Some("prompts")),
        (r#"{"model":"m","prompt":"a"}"#, Some("request-body")),
        (r#"{"name":"a","steps":[]}"#, None),
        ("total 48\nstarted\n", None),
        ("[core.py:133] a line\n", None),
        ("", None),
    ];
    for (content, expected) in cases {
        assert_eq!(detect_bytes(content.as_bytes()).map(|format| format.id), expected, "{content:.60}");
    }
}

#[test]
fn a_usage_message_of_an_engine_is_no_page_of_its_metrics() {
    let usage = "a line before\nusage: vllm [-h]\nvllm: error: unrecognized arguments: --x\n";
    assert_ne!(detect_bytes(usage.as_bytes()).map(|format| format.id), Some("metrics"));
}

#[test]
fn a_result_that_was_cut_off_is_named_with_its_line_and_how_to_mend_it() {
    let (_dir, path) = file("bench.json", &fixture::VLLM[..fixture::VLLM.len() / 2]);
    let error = read_runs(&path).unwrap_err();
    assert!(matches!(&error, Error::Malformed { line: Some(line), .. } if *line > 1), "{error}");
    assert!(error.to_string().contains("killed while writing it"), "{error}");
}

#[test]
fn a_file_beyond_the_limit_is_refused() {
    let (_dir, path) = file("bench.json", fixture::VLLM);
    let limits = Limits { file_bytes: 100, ..Limits::default() };
    assert!(matches!(read_runs_within(&path, &limits), Err(Error::TooLarge { limit: 100, .. })));
}

#[test]
fn a_missing_path_is_an_error() {
    let missing = folder(&[]).path().join("nothing");
    let error = read_runs(&missing).unwrap_err();
    assert!(error.to_string().contains("nothing"), "{error}");
}

#[test]
fn the_registry_names_each_format_once_and_its_page_is_the_one_in_the_docs() {
    let mut ids: Vec<&str> = formats::FORMATS.iter().map(|format| format.id).collect();
    ids.sort_unstable();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md");
    let page = formats::page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), page, "UPDATE=1 writes it anew");
}
