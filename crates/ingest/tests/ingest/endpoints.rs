//! Fingerprints from pages and endpoint answers.

use crate::fixture;
use firstcheck_ingest::{
    fingerprint::{REDACTED, from_models, from_page, from_server_info, from_version, is_secret},
    prometheus,
};
use firstcheck_model::fingerprint::{Fingerprint, field};

#[test]
fn a_metrics_page_states_engine_model_and_kv_pool() {
    let mut all = Fingerprint::default();
    from_page(&prometheus::parse(fixture::page(1, 1, 0).as_bytes()), "/metrics", &mut all);
    let expected = [
        (field::ENGINE, "vllm"),
        (field::MODEL, "toy"),
        (field::KV_BLOCKS, "128"),
        (field::KV_BLOCK_SIZE, "16"),
        (field::PREFIX_CACHING, "true"),
        (field::KV_CACHE_DTYPE, "auto"),
    ];
    for (name, value) in expected {
        assert_eq!(all.get(name), Some(value), "{name}");
    }
    assert_eq!(all.get("num_cpu_blocks"), None, "what is not set has no value");
    assert_eq!(all.field(field::ENGINE).unwrap().stated.from, "/metrics");
}

#[test]
fn engines_that_disagree_on_one_page_both_stand() {
    let page = "x 1\n\
        vllm:cache_config_info{engine=\"0\",num_gpu_blocks=\"100\"} 1\n\
        vllm:cache_config_info{engine=\"1\",num_gpu_blocks=\"90\"} 1\n";
    let mut all = Fingerprint::default();
    from_page(&prometheus::parse(page.as_bytes()), "/metrics", &mut all);
    assert_eq!(all.get(field::KV_BLOCKS), Some("100,90"));
}

#[test]
fn endpoints_state_version_model_and_limits() {
    let mut all = Fingerprint::default();
    assert!(from_version(br#"{"version":"0.9"}"#, "/version", &mut all));
    assert!(from_models(
        br#"{"object":"list","data":[{"id":"toy","root":"org/toy","max_model_len":4096,"owned_by":"vllm"}]}"#,
        "/v1/models",
        &mut all
    ));
    let info = br#"{"vllm_config":{"scheduler_config":{"max_num_seqs":32,"max_num_batched_tokens":2048},
        "model_config":{"hf_token":"hf_abc","dtype":"bfloat16"},"parallel_config":{"data_parallel_master_ip":"10.0.0.1"}}}"#;
    assert!(from_server_info(info, "/server_info", &mut all));
    let expected = [
        (field::ENGINE_VERSION, "0.9"),
        (field::MODEL, "toy"),
        (field::MAX_MODEL_LEN, "4096"),
        (field::ENGINE, "vllm"),
        (field::MAX_NUM_SEQS, "32"),
        (field::MAX_NUM_BATCHED_TOKENS, "2048"),
        ("dtype", "bfloat16"),
    ];
    for (name, value) in expected {
        assert_eq!(all.get(name), Some(value), "{name}");
    }
    let text = format!("{all:?}");
    assert!(!text.contains("hf_abc") && !text.contains("10.0.0.1"), "{text}");
}

#[test]
fn sglang_and_the_text_form_of_vllm_are_read_and_secrets_hidden() {
    let mut all = Fingerprint::default();
    let info = br#"{"model_path":"org/toy","tp_size":2,"api_key":"verysecret","max_running_requests":64,"context_length":8192,
        "disable_radix_cache":true,"version":"0.5","launch_command":"--api-key verysecret","mem_fraction_static":0.85}"#;
    assert!(from_server_info(info, "/server_info", &mut all));
    assert_eq!(all.get(field::PREFIX_CACHING), Some("false"));
    assert_eq!(all.get(field::MAX_NUM_SEQS), Some("64"));
    assert_eq!(all.get("api_key"), Some(REDACTED));
    assert!(!format!("{all:?}").contains("verysecret"));

    let mut all = Fingerprint::default();
    let text =
        br#"{"vllm_config":"model='m', max_seq_len=8192, tensor_parallel_size=4, kv_cache_dtype=fp8, x=X(a=1)"}"#;
    assert!(from_server_info(text, "/server_info", &mut all));
    assert_eq!(all.get(field::MAX_MODEL_LEN), Some("8192"));
    assert_eq!(all.get("tensor_parallel_size"), Some("4"));
}

#[test]
fn what_is_not_understood_says_so_and_adds_nothing() {
    for json in ["", "[]", "{}", "{\"version\":1}", "nonsense", "{\"data\":[]}", "{\"data\":[{\"id\":3}]}"] {
        let mut all = Fingerprint::default();
        assert!(!from_version(json.as_bytes(), "x", &mut all));
        assert!(!from_models(json.as_bytes(), "x", &mut all));
        assert!(!from_server_info(json.as_bytes(), "x", &mut all));
        assert_eq!(all, Fingerprint::default());
    }
}

#[test]
fn secrets_are_told_by_name_beginning_and_address() {
    let cases = [
        ("api_key", "x", true),
        ("hf_token", "abc", true),
        ("auth", "x", true),
        ("url", "http://user:pw@host/", true),
        ("anything", "hf_abcdef", true),
        ("max_num_batched_tokens", "2048", false),
        ("tokenizer", "org/toy", false),
        ("new_token_ratio", "0.7", false),
        ("url", "http://host/", false),
        ("trust_token", "True", false),
        ("token_budgets", "[]", false),
        ("token_budgets", "[512, 1024]", false),
        ("tokens", "[sk-abc]", false),
        ("token", "[sk-abc]", true),
        ("hfToken", "abc", true),
        ("HFToken", "abc", true),
        ("dbPass", "abc", true),
        ("slackWebhook", "abc", true),
        ("basicAuth", "abc", true),
        ("sessionCookie", "abc", true),
        ("PGPASSWORD", "abc", true),
        ("compassHeading", "abc", false),
        ("DB_PASS", "abc", true),
        ("X-Amz-Signature", "abc", true),
        ("pass_config", "{'fuse': False}", false),
        ("any", "glpat-abc", true),
    ];
    for (name, value, secret) in cases {
        assert_eq!(is_secret(name, value), secret, "{name}={value}");
    }
}
