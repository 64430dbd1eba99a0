//! What deployments say they are.

use crate::server::{Route, Server};
use firstcheck_model::fingerprint::field;
use firstcheck_observe::{Address, Error, Headers, HttpClient, Identity, Settings, identify};
use tokio::net::TcpListener;

const VLLM_METRICS: &str = "# TYPE vllm:cache_config_info gauge\n\
    vllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\",enable_prefix_caching=\"True\",engine=\"0\",\
    gpu_memory_utilization=\"0.9\",num_gpu_blocks=\"4711\"} 1.0\n";
const MODELS: &str =
    r#"{"object":"list","data":[{"id":"tiny","object":"model","owned_by":"vllm","root":"/m","max_model_len":8192}]}"#;
const SGLANG_INFO: &str = r#"{"model_path":"m","version":"0.5.18","max_running_requests":64,"api_key":"hunter2",
    "launch_command":"python -m sglang.launch_server --api-key hunter2 --port 30000","internal_states":[{"token":"hunter2"}]}"#;
const VLLM_INFO: &str = r#"{"vllm_config":{"scheduler_config":{"max_num_seqs":256,"max_num_batched_tokens":2048},
    "model_config":{"hf_token":"hunter2","tokenizer":"tiny"}},"vllm_env":{"VLLM_API_KEY":"hunter2"}}"#;

async fn identity(routes: &[Route]) -> Identity {
    let server = Server::start(routes).await;
    let client = HttpClient::new(&Settings::default()).unwrap();
    let identity = identify(&client, &server.base.join("/v1"), &Headers::default()).await.unwrap();
    for page in &identity.pages {
        assert!(!String::from_utf8_lossy(&page.bytes).contains("hunter2"), "{}", page.name);
    }
    assert!(!format!("{:?}{:?}", identity.fingerprint, identity.notes).contains("hunter2"));
    identity
}

fn fields<'a>(identity: &'a Identity, names: &[&str]) -> Vec<Option<(&'a str, &'a str)>> {
    let stated =
        |name: &&str| identity.fingerprint.field(name).map(|f| (f.stated.value.as_str(), f.stated.from.as_str()));
    names.iter().map(stated).collect()
}

#[tokio::test]
async fn vllm_in_development_mode() {
    let routes = [
        ("/metrics", 200, VLLM_METRICS),
        ("/v1/models", 200, MODELS),
        ("/version", 200, r#"{"version":"0.32.0"}"#),
        ("/server_info", 200, VLLM_INFO),
    ];
    let identity = identity(&routes).await;
    let names = [field::ENGINE, field::ENGINE_VERSION, field::MODEL, field::KV_BLOCKS, field::MAX_NUM_SEQS];
    let expected = [
        Some(("vllm", "/server_info")),
        Some(("0.32.0", "/version")),
        Some(("tiny", "/v1/models")),
        Some(("4711", "/metrics")),
        Some(("256", "/server_info")),
    ];
    assert_eq!(fields(&identity, &names), expected);
    assert_eq!(identity.notes, Vec::<String>::new());
    let files: Vec<_> = identity.pages.iter().map(|page| page.name.as_str()).collect();
    assert_eq!(files, ["metrics.prom", "models.json", "version.json", "server_info.json"]);
}

/// In memory an answer takes a hundred times its bytes.
#[tokio::test]
async fn an_answer_of_absurd_length_is_noted_and_not_read() {
    let list = format!(r#"{{"object":"list","data":[{}{{}}]}}"#, r#"{"id":"m"},"#.repeat(500_000));
    let identity = identity(&[("/v1/models", 200, list.leak())]).await;
    let said = identity.notes.iter().find(|note| note.starts_with("/v1/models"));
    assert!(said.is_some_and(|note| note.contains("more than is read of it")), "{:?}", identity.notes);
    assert!(identity.pages.is_empty());
}

#[tokio::test]
async fn vllm_as_it_is_usually_started() {
    let routes =
        [("/metrics", 200, VLLM_METRICS), ("/v1/models", 200, MODELS), ("/version", 200, r#"{"version":"0.32.0"}"#)];
    let identity = identity(&routes).await;
    assert_eq!(identity.fingerprint.get(field::KV_BLOCKS), Some("4711"));
    assert_eq!(identity.notes, ["/server_info is not there (404): SGLang has it, vLLM with VLLM_SERVER_DEV_MODE=1"]);
}

#[tokio::test]
async fn an_older_sglang_under_its_older_path() {
    let identity = identity(&[("/get_server_info", 200, SGLANG_INFO)]).await;
    let names = [field::ENGINE, field::ENGINE_VERSION, field::MAX_NUM_SEQS];
    let from = "/get_server_info";
    assert_eq!(fields(&identity, &names), [Some(("sglang", from)), Some(("0.5.18", from)), Some(("64", from))]);
    let kept = String::from_utf8_lossy(&identity.pages[0].bytes).into_owned();
    assert!(kept.contains("--port 30000") && kept.contains("\"max_running_requests\":64"), "{kept}");
}

#[tokio::test]
async fn what_is_not_understood_is_noted_and_kept() {
    let routes = [
        ("/metrics", 200, "<html>"),
        ("/v1/models", 401, ""),
        ("/version", 200, "[1]"),
        ("/server_info", 200, "<html>"),
    ];
    let identity = identity(&routes).await;
    assert!(identity.fingerprint.is_empty());
    let expected = [
        "/metrics holds no sample in Prometheus' text format",
        "/v1/models was refused (401): it needs a key",
        "/version is not understood: its answer is kept, nothing was learned from it",
        "/server_info did not answer in JSON",
    ];
    assert_eq!(identity.notes, expected);
    let files: Vec<_> = identity.pages.iter().map(|page| page.name.as_str()).collect();
    assert_eq!(files, ["version.json"]);
}

#[tokio::test]
async fn a_server_that_knows_nothing_still_answers_but_a_closed_port_does_not() {
    assert_eq!(identity(&[]).await.notes.len(), 4);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base: Address = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let client = HttpClient::new(&Settings::default()).unwrap();
    let error = identify(&client, &base, &Headers::default()).await.unwrap_err();
    assert!(matches!(error, Error::Connect { .. }), "{error}");
}
