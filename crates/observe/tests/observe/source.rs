//! What stands behind an address is told by what it answers.

use crate::server::{Route, Server, answering};
use firstcheck_observe::{Error, Headers, HttpClient, Settings, Source, recognise};

const API: &str = r#"{"status":"success","data":{"resultType":"scalar","result":[1700000000.5,"1700000000.5"]}}"#;
const ENGINE: &str = "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 1\n";
const EXPORTER: &str = "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP 40\n";
const VERSION: &str = r#"{"version":"0.77"}"#;

async fn told(routes: &[Route], path: &str) -> Result<(&'static str, String), Error> {
    let server = Server::start(routes).await;
    let client = HttpClient::new(&Settings::default()).unwrap();
    Ok(match recognise(&client, &server.base.join(path), &Headers::default()).await? {
        Source::Prometheus(api) => ("prometheus", api.address().to_string().replace(&server.base.to_string(), "/")),
        Source::Engine(identity) => ("engine", identity.fingerprint.get("engine_version").unwrap_or("").to_owned()),
        Source::Page => ("page", String::new()),
    })
}

#[tokio::test]
async fn the_content_tells() {
    // A Prometheus has a metrics page as well, and so has a Mimir, whose API has a prefix.
    let cases: [(&[Route], &str, &str, &str); 7] = [
        (&[("/api/v1/query", 200, API), ("/metrics", 200, EXPORTER)], "", "prometheus", "/"),
        (&[("/vm/api/v1/query", 200, API)], "/vm/", "prometheus", "/vm/"),
        (&[("/prometheus/api/v1/query", 200, API), ("/metrics", 200, EXPORTER)], "", "prometheus", "/prometheus"),
        (&[("/metrics", 200, ENGINE), ("/version", 200, VERSION)], "", "engine", "0.77"),
        (&[("/metrics", 200, ENGINE), ("/version", 200, VERSION)], "/metrics", "engine", "0.77"),
        (&[("/version", 200, VERSION)], "/v1", "engine", "0.77"),
        (&[("/metrics", 200, EXPORTER)], "/metrics", "page", ""),
    ];
    for (routes, path, kind, detail) in cases {
        let found = told(routes, path).await.unwrap();
        assert_eq!((found.0, found.1.as_str()), (kind, detail), "{routes:?} {path}");
    }
}

#[tokio::test]
async fn what_is_neither_says_what_was_asked_and_a_refusal_says_so() {
    let error = told(&[("/", 200, "<html>")], "").await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("neither a Prometheus API nor an engine") && text.contains("/api/v1/query"), "{text}");
    let denied = answering(|_| (403, "who are you".into())).await;
    let client = HttpClient::new(&Settings::default()).unwrap();
    let error = recognise(&client, &denied, &Headers::default()).await.unwrap_err();
    assert!(error.is_denied(), "{error}");
}
