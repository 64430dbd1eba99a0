//! What a file is, by its content.

use crate::fixture::{self, file, folder};
use firstcheck_ingest::{Error, Format, Limits, detect};

#[test]
fn content_decides_whatever_the_name() {
    let page = fixture::page(1, 1, 0);
    let listed = format!("[{}]", fixture::VLLM);
    let twice = format!("{}\n{}", fixture::VLLM, fixture::VLLM_SUMMARY);
    let cases: [(&str, Format); 18] = [
        (fixture::VLLM, Format::VllmBench),
        (fixture::VLLM_SUMMARY, Format::VllmBench),
        (&listed, Format::VllmBench),
        (&twice, Format::VllmBench),
        (fixture::SGLANG, Format::SglangBench),
        (fixture::AIPERF, Format::AiperfRecords),
        (fixture::AIPERF_SUMMARY, Format::AiperfSummary),
        (fixture::GUIDELLM, Format::Guidellm),
        (fixture::INFERENCE_PERF_STAGE, Format::InferencePerf),
        (fixture::INFERENCE_PERF_WHOLE, Format::InferencePerf),
        (&page, Format::MetricsPage),
        (r#"{"version":"1.2"}"#, Format::Version),
        (r#"{"object":"list","data":[{"id":"toy"}]}"#, Format::Models),
        (r#"{"vllm_config":{}}"#, Format::ServerInfo),
        (r#"{"name":"a","steps":[]}"#, Format::Unknown),
        ("total 48\nINFO 01-01 started\n", Format::Unknown),
        ("[core.py:133] a log line\n", Format::Unknown),
        ("", Format::Unknown),
    ];
    for (content, expected) in cases {
        let (_dir, path) = file("metrics.json.txt", content);
        assert_eq!(detect(&path, &Limits::default()).unwrap(), expected, "{content:.60}");
    }
}

#[test]
fn a_result_that_was_cut_off_is_named_with_its_line_and_how_to_mend_it() {
    let (_dir, path) = file("bench.json", &fixture::VLLM[..fixture::VLLM.len() / 2]);
    let error = detect(&path, &Limits::default()).unwrap_err();
    assert!(matches!(&error, Error::Malformed { line: Some(line), .. } if *line > 1), "{error}");
    assert!(error.to_string().contains("killed while writing it"), "{error}");
}

#[test]
fn a_file_beyond_the_limit_is_refused_before_it_is_read() {
    let (_dir, path) = file("bench.json", fixture::VLLM);
    let limits = Limits { file_bytes: 100, ..Limits::default() };
    assert!(matches!(detect(&path, &limits), Err(Error::TooLarge { limit: 100, .. })));
}

#[test]
fn a_folder_is_a_folder_and_a_missing_path_an_error() {
    let dir = folder(&[]);
    assert_eq!(detect(dir.path(), &Limits::default()).unwrap(), Format::Folder);
    let missing = dir.path().join("nothing");
    let error = detect(&missing, &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("nothing"), "{error}");
}
