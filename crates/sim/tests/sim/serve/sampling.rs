//! Sampling settings, log probabilities and token ids over HTTP.

use super::{
    client::{post, send},
    server, with,
};
use crate::play::small;
use firstcheck_sim::{EngineConfig, serve::Server};
use serde_json::{Value, json};

fn merged(mut body: Value, more: Value) -> Value {
    let more = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(more);
    body
}

fn completion(server: &Server, more: Value) -> Value {
    let body = merged(json!({"prompt": "apple river stone", "max_tokens": 12, "ignore_eos": true}), more);
    post(server.addr(), "/v1/completions", &body).json()
}

#[test]
fn a_seed_repeats_an_answer_and_none_does_not() {
    let server = server();
    let text = |more| completion(&server, more)["choices"][0]["text"].clone();
    assert_eq!(text(json!({"seed": 5})), text(json!({"seed": 5})));
    assert_ne!(text(json!({"seed": 5})), text(json!({"seed": 6})));
    assert_ne!(text(json!({})), text(json!({})), "the default temperature is 1");
    assert_eq!(text(json!({"temperature": 0})), text(json!({"temperature": 0})));
    assert_eq!(text(json!({"temperature": 2, "top_k": 1})), text(json!({"temperature": 0})));
}

#[test]
fn a_completion_has_its_log_probabilities_in_columns() {
    let server = server();
    let choice = completion(&server, json!({"logprobs": 3, "temperature": 0}))["choices"][0].clone();
    let logprobs = &choice["logprobs"];
    let tokens: Vec<_> = logprobs["tokens"].as_array().unwrap().iter().map(|token| token.as_str().unwrap()).collect();
    assert_eq!(tokens.concat(), choice["text"].as_str().unwrap());
    let text = choice["text"].as_str().unwrap();
    for (place, token) in tokens.iter().enumerate() {
        let offset = logprobs["text_offset"][place].as_u64().unwrap() as usize;
        assert!(text[offset..].starts_with(token));
        let top = logprobs["top_logprobs"][place].as_object().unwrap();
        assert_eq!(top.len(), 3);
        assert_eq!(top[*token], logprobs["token_logprobs"][place]);
        assert!(top.values().all(|value| value.as_f64().unwrap() <= top[*token].as_f64().unwrap()));
    }
    let events = |logprobs: Value| {
        let body = json!({"prompt": "apple river stone", "max_tokens": 12, "ignore_eos": true, "temperature": 0,
                          "stream": true, "logprobs": logprobs});
        post(server.addr(), "/v1/completions", &body).events()
    };
    let streamed: Vec<_> =
        events(json!(3)).iter().map(|event| event["choices"][0]["logprobs"]["token_logprobs"][0].clone()).collect();
    assert_eq!(Value::from(streamed), logprobs["token_logprobs"]);
    assert!(events(Value::Null).iter().all(|event| event["choices"][0]["logprobs"].is_null()));
}

#[test]
fn a_chat_has_them_token_by_token() {
    let server = server();
    let body = |more| {
        let base = json!({"messages": [{"role": "user", "content": "apple river stone"}], "max_tokens": 6,
                          "ignore_eos": true, "temperature": 0});
        merged(base, more)
    };
    let asked = json!({"logprobs": true, "top_logprobs": 2, "return_token_ids": true});
    let whole = post(server.addr(), "/v1/chat/completions", &body(asked.clone())).json();
    let content = whole["choices"][0]["logprobs"]["content"].as_array().unwrap().clone();
    assert_eq!(content.len(), 6);
    assert_eq!(content[0]["top_logprobs"].as_array().unwrap().len(), 2);
    assert_eq!(content[0]["bytes"].as_array().unwrap().len(), content[0]["token"].as_str().unwrap().len());
    assert_eq!(whole["prompt_token_ids"].as_array().unwrap().len(), 3);
    assert_eq!(whole["choices"][0]["token_ids"].as_array().unwrap().len(), 6);

    let streamed = post(server.addr(), "/v1/chat/completions", &body(merged(asked, json!({"stream": true})))).events();
    assert_eq!(streamed[0]["prompt_token_ids"], whole["prompt_token_ids"]);
    for (place, event) in streamed[1..7].iter().enumerate() {
        assert_eq!(event["choices"][0]["logprobs"]["content"][0], content[place]);
        assert_eq!(event["choices"][0]["token_ids"][0], whole["choices"][0]["token_ids"][place]);
    }
    let bare = post(server.addr(), "/v1/chat/completions", &body(json!({"logprobs": true}))).json();
    assert_eq!(bare["choices"][0]["logprobs"]["content"][0]["top_logprobs"], json!([]));
}

#[test]
fn an_answer_scored_as_a_prompt_has_the_same_log_probabilities() {
    let server = server();
    let asked = json!({"logprobs": 0, "temperature": 0, "return_token_ids": true});
    let first = completion(&server, asked)["choices"][0].clone();
    let ids = |name: &str| first[name].as_array().unwrap().clone();
    let whole: Vec<Value> = ids("prompt_token_ids").into_iter().chain(ids("token_ids")).collect();
    let body = json!({"prompt": whole, "max_tokens": 1, "prompt_logprobs": 0, "ignore_eos": true});
    let scored = post(server.addr(), "/v1/completions", &body).json()["choices"][0]["prompt_logprobs"].clone();
    assert!(scored[0].is_null());
    for (place, id) in ids("token_ids").iter().enumerate() {
        let entry = &scored[3 + place][id.to_string()];
        assert_eq!(entry["logprob"], first["logprobs"]["token_logprobs"][place]);
    }
}

#[test]
fn a_stop_token_is_named_and_the_models_own_end_is_not() {
    let server = server();
    let asked = json!({"temperature": 0, "return_token_ids": true});
    let third = completion(&server, asked)["choices"][0]["token_ids"][2].clone();
    let stopped = completion(&server, json!({"temperature": 0, "stop_token_ids": [third]}))["choices"][0].clone();
    assert_eq!((stopped["finish_reason"].clone(), stopped["stop_reason"].clone()), (json!("stop"), third));
    let ended = completion(&server, json!({"ignore_eos": false, "max_tokens": 400, "temperature": 0}));
    assert_eq!(ended["choices"][0]["finish_reason"], "stop");
    assert!(ended["choices"][0]["stop_reason"].is_null());
}

#[test]
fn tokens_go_there_and_back() {
    let server = server();
    let there = post(server.addr(), "/tokenize", &json!({"prompt": "apple river", "return_token_strs": true})).json();
    assert_eq!(there["token_strs"], json!(["apple", "river"]));
    let back = post(server.addr(), "/detokenize", &json!({"tokens": there["tokens"]})).json();
    assert_eq!(back, json!({"prompt": "apple river"}));
    assert_eq!(post(server.addr(), "/detokenize", &json!({"tokens": [-1]})).status, 400);
    assert_eq!(post(server.addr(), "/detokenize", &json!({})).status, 400);
}

#[test]
fn a_template_shows_in_ids_counts_and_tokenize() {
    let mut config = EngineConfig { num_gpu_blocks: 1000, max_model_len: 512, ..small() };
    (config.sampler.prompt.bos_tokens, config.sampler.prompt.tail_tokens) = (2, 3);
    let server = with(config);
    let answer = completion(&server, json!({"return_token_ids": true}));
    let ids = answer["choices"][0]["prompt_token_ids"].clone();
    assert_eq!((ids[0].clone(), ids[1].clone()), (json!(128_000), json!(128_000)));
    assert_eq!(answer["usage"]["prompt_tokens"], 8);
    assert_eq!(post(server.addr(), "/tokenize", &json!({"prompt": "apple river stone"})).json()["tokens"], ids);
}

#[test]
fn settings_out_of_range_are_refused() {
    let server = server();
    for (more, reason) in [
        (json!({"temperature": -1}), "temperature must be"),
        (json!({"temperature": "hot"}), "temperature must be a number"),
        (json!({"top_p": 0}), "top_p must be"),
        (json!({"top_k": -2}), "top_k must be"),
        (json!({"logprobs": 21}), "logprobs must be 0 to 20"),
        (json!({"stop_token_ids": ["a"]}), "stop_token_ids must be"),
        (json!({"prompt_logprobs": 1, "stream": true}), "not available when stream"),
    ] {
        let body = merged(json!({"prompt": "apple", "max_tokens": 1}), more);
        let reply = send(server.addr(), "POST", "/v1/completions", &body.to_string());
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(reply.status, 400);
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn an_older_release_writes_a_null_usage_and_no_fingerprint() {
    let config = |version: &str| EngineConfig { version: version.into(), ..small() };
    let ask = json!({"prompt": "apple", "max_tokens": 2, "ignore_eos": true, "stream": true,
                     "stream_options": {"include_usage": true}});
    for (version, old) in [("0.16.0", true), ("0.32.0", false)] {
        let server = with(config(version));
        let events = post(server.addr(), "/v1/completions", &ask).events();
        assert_eq!(events[0].as_object().unwrap().contains_key("usage"), old);
        assert_eq!(events[2].as_object().unwrap().contains_key("system_fingerprint"), !old);
    }
}
