//! Secrets stay out, settings stay in.

use firstcheck_observe::redact;
use proptest::prelude::*;
use serde_json::{Value, json};

fn redacted(mut value: Value) -> Value {
    redact(&mut value);
    value
}

#[test]
fn secrets_are_replaced_wherever_they_stand() {
    let r = "(redacted)";
    let cases = [
        (json!({"api_key": "a"}), json!({"api_key": r})),
        (json!({"Authorization": "Bearer a"}), json!({"Authorization": r})),
        (json!({"hf_token": "a", "adminApiKey": "b"}), json!({"hf_token": r, "adminApiKey": r})),
        (json!({"api_keys": ["a", {"x": "b", "n": 1}]}), json!({"api_keys": [r, {"x": r, "n": 1}]})),
        (json!({"env": {"DB_PASSWORD": "a"}}), json!({"env": {"DB_PASSWORD": r}})),
        (json!(["serve", "--api-key", "a", "b"]), json!(["serve", "--api-key", r, r])),
        (json!(["--api-key=a"]), json!([format!("--api-key={r}")])),
        (json!("x --api-key a --port 8000"), json!(format!("x --api-key {r} --port 8000"))),
        (json!("hf_token='a', dtype=auto"), json!(format!("hf_token='{r}', dtype=auto"))),
        (json!("{'api_key': 'a', 'n': 1}"), json!(format!("{{'api_key': '{r}', 'n': 1}}"))),
        (json!("VLLM_API_KEY=a\nHOME=/root"), json!(format!("VLLM_API_KEY={r}\nHOME=/root"))),
        (json!("Authorization: Bearer a b"), json!(format!("Authorization: Bearer {r} b"))),
        (json!("--model hf_aBcD"), json!(format!("--model {r}"))),
        (json!("http://me:a@h:1/x?y"), json!(format!("http://{r}@h:1/x?y"))),
        (
            json!("https://keycloak.corp:8443/cb?client_secret=a&sig=b#access_token=c"),
            json!(format!("https://keycloak.corp:8443/cb?client_secret={r}&sig={r}#access_token={r}")),
        ),
        (
            json!({"dbPass": "a", "slackWebhook": "b", "basicAuth": "c", "sessionCookie": "d", "PGPASSWORD": "e"}),
            json!({"dbPass": r, "slackWebhook": r, "basicAuth": r, "sessionCookie": r, "PGPASSWORD": r}),
        ),
        (
            json!("posts to https://x.webhook.office.com/webhookb2/planted@y/IncomingWebhook/z"),
            json!(format!("posts to https://x.webhook.office.com/webhookb2/{r}")),
        ),
        (
            json!({"hfToken": "a", "MY_PASS": "b", "passphrase": "c"}),
            json!({"hfToken": r, "MY_PASS": r, "passphrase": r}),
        ),
        (json!("Server=h;Pwd=a;Port=b"), json!(format!("Server=h;Pwd={r};Port=b"))),
        (json!("cookie: session=a; id=b\nport: c"), json!(format!("cookie: {r}={r}; {r}={r}\nport: c"))),
        (json!("{'Cookie': 'session=a', 'x': 'b'}"), json!(format!("{{'Cookie': '{r}={r}', 'x': 'b'}}"))),
        (json!("curl -u me:a http://h"), json!(format!("curl -u {r} http://h"))),
        (json!(["curl", "-u", "me:a", "http://h"]), json!(["curl", "-u", r, "http://h"])),
        (json!("github_pat_1A glpat-b xoxb-1-c AIzad nvapi-e"), json!(format!("{r} {r} {r} {r} {r}"))),
        (
            json!("https://hooks.slack.com/services/T0/B0/a, b"),
            json!(format!("https://hooks.slack.com/services/{r}, b")),
        ),
        (
            json!("k='-----BEGIN RSA PRIVATE KEY-----\na b\n-----END RSA PRIVATE KEY-----' n=1"),
            json!(format!("k='{r}' n=1")),
        ),
    ];
    for (given, expected) in cases {
        assert_eq!(redacted(given.clone()), expected, "{given}");
    }
}

#[test]
fn settings_stay() {
    let kept = [
        json!({"max_tokens": 5, "max_num_batched_tokens": 2048, "kv_cache_size_tokens": "262144"}),
        json!({"tokenizer": "Qwen/Qwen3", "tokenizer_mode": "auto", "skip_tokenizer_init": false}),
        json!({"hf_token": null, "api_key": "", "api_key_set": true}),
        json!("tokenizer='tiny', max_num_batched_tokens=2048, hf_token=None, seed=0"),
        json!(["vllm", "serve", "m", "--tokenizer", "t", "--max-num-batched-tokens", "2048", "--port", "8000"]),
        json!("http://10.0.0.7:8000/v1 and https://h/a@b"),
        json!("python -u serve.py --compilation-config {'pass_config': {'fuse_norm_quant': False}}"),
        json!("http://monkey.io:8000/v1?model=m"),
    ];
    for value in kept {
        assert_eq!(redacted(value.clone()), value);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_key_after_its_option_never_stays(before in "[ -~]{0,30}", after in "[ -~]{0,30}") {
        let given = json!(format!("{before} --api-key hunter2 {after}"));
        prop_assert!(!redacted(given).to_string().contains("hunter2"));
    }

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        redacted(json!(text));
    }
}

/// Needs the captures that `FIRSTCHECK_ARTEFACTS` names; says so when they are not there.
#[test]
fn a_real_answer_loses_nothing() {
    let Some(artefacts) = std::env::var_os("FIRSTCHECK_ARTEFACTS") else {
        eprintln!("SKIPPED a_real_answer_loses_nothing: FIRSTCHECK_ARTEFACTS is not set");
        return;
    };
    let folder = std::path::Path::new(&artefacts).join("engine/k_otlp");
    for file in ["server_info.json", "server_info.text.json", "models.json", "version.json"] {
        let value: Value = serde_json::from_slice(&std::fs::read(folder.join(file)).unwrap()).unwrap();
        // This server was started without a key: whatever is replaced was no secret.
        assert_eq!(redacted(value.clone()), value, "{file}");
    }
}
