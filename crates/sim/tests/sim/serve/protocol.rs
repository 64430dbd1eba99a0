//! Endpoints, streams, refusals.

use super::{
    client::{get, metric, open, post, read, send},
    server, with,
};
use crate::play::small;
use firstcheck_sim::{
    EngineConfig, EngineKind, Linear, SchedulePolicy, Sglang, SimulateOptions, Timing,
    serve::{ServeOptions, Server},
    simulate,
};
use firstcheck_workload::{prompt::Prompt, trace};
use serde_json::{Value, json};
use std::{io::Read, time::Instant};

fn words(count: usize) -> String {
    vec!["apple"; count].join(" ")
}

#[test]
fn a_chat_is_streamed_with_role_tokens_finish_and_usage() {
    let server = server();
    let reply = post(
        server.addr(),
        "/v1/chat/completions",
        &json!({"model": "llama-3.1-8b", "messages": [{"role": "user", "content": words(10)}], "max_tokens": 5,
                "ignore_eos": true, "stream": true, "stream_options": {"include_usage": true}}),
    );
    assert_eq!(reply.status, 200);
    assert!(reply.head.contains("text/event-stream"));
    let events = reply.events();
    assert_eq!(events.len(), 7, "{events:?}");
    let delta = |event: &Value| event["choices"][0]["delta"].clone();
    assert_eq!(delta(&events[0]), json!({"role": "assistant", "content": ""}));
    let text: String =
        events[1..6].iter().filter_map(|event| delta(event)["content"].as_str().map(str::to_owned)).collect();
    assert_eq!(text.split(' ').count(), 5);
    assert!(events[1..5].iter().all(|event| event["choices"][0]["finish_reason"].is_null()));
    assert_eq!(events[5]["choices"][0]["finish_reason"], "length");
    assert_eq!(events[6]["choices"], json!([]));
    assert_eq!(events[6]["usage"], json!({"prompt_tokens": 10, "total_tokens": 15, "completion_tokens": 5}));
    assert!(events.iter().all(|event| event["id"] == events[0]["id"] && event["object"] == "chat.completion.chunk"));
}

#[test]
fn a_completion_is_streamed_with_running_usage() {
    let server = server();
    let reply = post(
        server.addr(),
        "/v1/completions",
        &json!({"prompt": [5, 6, 7], "max_tokens": 3, "ignore_eos": true, "stream": true,
                "stream_options": {"include_usage": true, "continuous_usage_stats": true}}),
    );
    let counts: Vec<_> = reply.events().iter().map(|event| event["usage"]["completion_tokens"].as_u64()).collect();
    assert_eq!(counts, [Some(1), Some(2), Some(3), Some(3)]);
}

#[test]
fn an_answer_is_the_same_streamed_and_whole() {
    let server = server();
    let ask =
        |stream| json!({"prompt": words(7), "max_tokens": 6, "ignore_eos": true, "temperature": 0, "stream": stream});
    let events = post(server.addr(), "/v1/completions", &ask(true)).events();
    let streamed: String =
        events.iter().filter_map(|event| event["choices"][0]["text"].as_str().map(str::to_owned)).collect();
    let whole = post(server.addr(), "/v1/completions", &ask(false)).json();
    assert_eq!(whole["choices"][0]["text"], streamed);
    assert_eq!(whole["usage"]["completion_tokens"], 6);
    let chat = json!({"messages": [{"role": "user", "content": words(7)}], "max_tokens": 6, "ignore_eos": true,
                      "temperature": 0});
    let chat = post(server.addr(), "/v1/chat/completions", &chat).json();
    assert_eq!(chat["choices"][0]["message"]["content"], streamed, "the model reads words, not roles");
}

#[test]
fn an_answer_that_ends_of_itself_stops() {
    let server = with(EngineConfig { mean_output_tokens: 2.0, max_model_len: 512, num_gpu_blocks: 1000, ..small() });
    let ask = json!({"messages": [{"role": "user", "content": words(7)}], "min_tokens": 2, "stream": true,
                     "stream_options": {"include_usage": true}});
    let events = post(server.addr(), "/v1/chat/completions", &ask).events();
    let last = &events[events.len() - 2];
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert_eq!(last["choices"][0]["delta"]["content"], "");
    let tokens = events[events.len() - 1]["usage"]["completion_tokens"].as_u64().unwrap();
    assert!(tokens >= 2);
    assert_eq!(events.len() as u64, tokens + 2);
}

#[test]
fn http_finds_the_prefixes_that_virtual_time_finds() {
    let config = EngineConfig { num_gpu_blocks: 4000, max_model_len: 4096, ..EngineConfig::default() };
    let trace = trace_of_shared_prefixes();
    let recording = simulate(&config, &trace, &SimulateOptions::new(1, "a")).unwrap();
    let expected: Vec<_> =
        recording.requests.0.iter().map(|request| (request.prompt_tokens, request.cached_tokens)).collect();
    let options = ServeOptions { prompt_tokens_details: true, time_scale: f64::INFINITY, ..ServeOptions::default() };
    let server = Server::start(config, options).unwrap();
    let salt = trace.salt.as_deref();
    for (item, (prompt_tokens, cached)) in trace.items.iter().zip(expected) {
        let mut messages = Vec::new();
        item.prompt.write_messages_json(salt, &mut messages);
        let body =
            format!(r#"{{"messages":{},"max_tokens":2,"ignore_eos":true}}"#, String::from_utf8(messages).unwrap());
        let usage = send(server.addr(), "POST", "/v1/chat/completions", &body).json()["usage"].clone();
        assert_eq!(usage["prompt_tokens"].as_u64(), prompt_tokens.map(u64::from));
        assert_eq!(usage["prompt_tokens_details"]["cached_tokens"].as_u64(), cached.map(u64::from));
    }
    assert!(metric(server.addr(), "vllm:prefix_cache_hits_total", "engine") > 0.0);
}

/// One after the other, so that both orders of admission are the same.
fn trace_of_shared_prefixes() -> trace::Trace {
    use firstcheck_model::{moment::Moment, run::Arrivals};
    use firstcheck_workload::prompt::Piece;
    let item = |row: u32| trace::Offered {
        due: trace::Due::At(Moment::from_seconds(f64::from(row) * 10.0)),
        prompt: Prompt::user(vec![
            Piece::Synthetic { seed: u64::from(row % 2), tokens: 100 },
            Piece::Synthetic { seed: 50 + u64::from(row), tokens: 30 + row * 7 },
        ]),
        output_tokens: Some(2),
        session: None,
    };
    let arrivals = Arrivals::Open { rate: 0.1, cv: Some(0.0) };
    trace::Trace { description: "shared".into(), arrivals, items: (0..8).map(item).collect(), salt: Some("s1".into()) }
}

#[test]
fn the_server_says_what_it_is() {
    let server = server();
    assert_eq!(get(server.addr(), "/version").json(), json!({"version": "0.32.0"}));
    let models = get(server.addr(), "/v1/models").json();
    assert_eq!(models["data"][0]["id"], "llama-3.1-8b");
    assert_eq!(models["data"][0]["max_model_len"], 512);
    assert_eq!(get(server.addr(), "/health").status, 200);
    let page = get(server.addr(), "/metrics");
    assert!(page.body.contains("num_gpu_blocks=\"1000\""));
    assert!(page.head.contains("text/plain; version=1.0.0"));
    let tokens = post(server.addr(), "/tokenize", &json!({"prompt": "apple zzz apple"})).json();
    assert_eq!(tokens["count"], 3);
    assert_eq!(tokens["tokens"][0], tokens["tokens"][2]);
}

#[test]
fn what_cannot_be_answered_is_refused_with_a_reason() {
    let server = server();
    let completion = "/v1/completions";
    let chat = "/v1/chat/completions";
    let cases = [
        (completion, json!({"prompt": words(600)}), 400, "512"),
        (completion, json!({"prompt": "apple", "max_tokens": 9000}), 400, "9000"),
        (completion, json!({"prompt": ""}), 400, "no token"),
        (completion, json!({"prompt": {"a": 1}}), 400, "prompt must be"),
        (completion, json!({"prompt": "apple", "max_tokens": -1}), 400, "max_tokens must be"),
        (completion, json!({"prompt": "apple", "stream": "yes"}), 400, "stream must be"),
        (completion, json!({"prompt": "apple", "n": 2}), 400, "n must be 1"),
        (completion, json!({"prompt": "apple", "stream_options": {"include_usage": true}}), 400, "stream_options"),
        (completion, json!({"prompt": "apple", "model": "nope"}), 404, "`nope` does not exist"),
        (chat, json!({"prompt": "apple"}), 400, "messages must be"),
        (chat, json!([1, 2]), 400, "JSON decode error"),
    ];
    for (path, body, status, reason) in cases {
        let reply = post(server.addr(), path, &body);
        let error = reply.json()["error"].clone();
        assert_eq!(reply.status, status, "{error}");
        assert!(error["message"].as_str().unwrap().contains(reason), "{error}");
        assert_eq!(error["code"], status);
    }
    assert_eq!(send(server.addr(), "POST", completion, "{\"prompt\": ").status, 400);
    assert_eq!(get(server.addr(), completion).status, 405);
    assert_eq!(get(server.addr(), "/nothing").status, 404);
    assert_eq!(metric(server.addr(), "vllm:request_success_total", "length"), 0.0);
}

#[test]
fn a_body_beyond_the_limit_is_refused() {
    let options = ServeOptions { max_body_bytes: 1000, ..ServeOptions::default() };
    let server = Server::start(small(), options).unwrap();
    let reply = post(server.addr(), "/v1/completions", &json!({"prompt": words(500)}));
    assert_eq!(reply.status, 413);
}

#[test]
fn the_page_counts_what_was_answered() {
    let server = server();
    for _ in 0..3 {
        let ask = json!({"prompt": words(20), "max_tokens": 4, "ignore_eos": true, "stream": true});
        assert_eq!(post(server.addr(), "/v1/completions", &ask).events().len(), 4);
    }
    let addr = server.addr();
    assert_eq!(metric(addr, "vllm:generation_tokens_total", ""), 12.0);
    assert_eq!(metric(addr, "vllm:prompt_tokens_total", ""), 60.0);
    assert_eq!(metric(addr, "vllm:time_to_first_token_seconds_count", ""), 3.0);
    assert_eq!(metric(addr, "vllm:prefix_cache_hits_total", ""), 32.0, "twice 16 of 20");
    server.shutdown().unwrap();
}

/// Steps of 20 ms of real time.
fn slow() -> Server {
    let timing = Timing::Linear(Linear { base: 0.02, per_token: 0.0, per_sequence: 0.0, per_kv_token: 0.0 });
    let config = EngineConfig { timing, num_gpu_blocks: 10_000, max_model_len: 20_000, ..small() };
    Server::start(config, ServeOptions::default()).unwrap()
}

#[test]
fn a_client_that_leaves_frees_the_engine() {
    for stream in [true, false] {
        let server = slow();
        let ask = json!({"prompt": words(20), "max_tokens": 15_000, "ignore_eos": true, "stream": stream});
        let mut socket = open(server.addr(), "POST", "/v1/completions", &ask.to_string());
        if stream {
            let mut first = [0; 64];
            assert!(socket.read(&mut first).unwrap() > 0);
        }
        let until = |wanted: f64| {
            let began = Instant::now();
            while metric(server.addr(), "vllm:num_requests_running", "") != wanted {
                assert!(began.elapsed().as_secs() < 20, "still not {wanted} running");
            }
        };
        until(1.0);
        drop(socket);
        let wait =
            send(server.addr(), "POST", "/v1/completions", &json!({"prompt": "apple", "max_tokens": 1}).to_string());
        assert_eq!(wait.status, 200);
        until(0.0);
        assert_eq!(metric(server.addr(), "vllm:kv_cache_usage_perc", ""), 0.0);
    }
}

#[test]
fn a_shut_down_server_closes_its_streams() {
    let server = slow();
    let ask = json!({"prompt": words(20), "max_tokens": 15_000, "ignore_eos": true, "stream": true});
    let mut socket = open(server.addr(), "POST", "/v1/completions", &ask.to_string());
    let mut first = [0; 64];
    assert!(socket.read(&mut first).unwrap() > 0);
    server.shutdown().unwrap();
    let mut rest = Vec::new();
    // Either a clean end or a reset: what matters is that it ends, short of the answer.
    let _ = socket.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains("[DONE]"));
}

#[test]
fn many_streams_at_once_are_all_answered() {
    let server = with(EngineConfig { num_gpu_blocks: 400, max_model_len: 512, max_num_seqs: 64, ..small() });
    let ask = json!({"prompt": words(30), "max_tokens": 40, "ignore_eos": true, "stream": true}).to_string();
    let sockets: Vec<_> = (0..100).map(|_| open(server.addr(), "POST", "/v1/completions", &ask)).collect();
    for socket in sockets {
        assert_eq!(read(socket).events().len(), 40);
    }
    assert_eq!(metric(server.addr(), "vllm:generation_tokens_total", ""), 4000.0);
}

#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let config = EngineConfig { num_gpu_blocks: 60_000, max_model_len: 200_000, ..small() };
    let options = ServeOptions { max_unsent_bytes: 64 << 10, time_scale: f64::INFINITY, ..ServeOptions::default() };
    let server = Server::start(config, options).unwrap();
    // Some 40 MB: more than the system buffers for a socket.
    let ask = json!({"prompt": "apple", "max_tokens": 180_000, "ignore_eos": true, "stream": true}).to_string();
    let socket = open(server.addr(), "POST", "/v1/completions", &ask);
    let began = Instant::now();
    while metric(server.addr(), "vllm:generation_tokens_total", "") == 0.0
        || metric(server.addr(), "vllm:num_requests_running", "") > 0.0
    {
        assert!(began.elapsed().as_secs() < 20, "still running");
        // The levels show the last finished step: another request makes one.
        post(server.addr(), "/v1/completions", &json!({"prompt": "apple", "max_tokens": 1}));
    }
    assert!(metric(server.addr(), "vllm:generation_tokens_total", "") < 180_000.0);
    let mut rest = Vec::new();
    let _ = (&socket).read_to_end(&mut rest);
    assert!(!rest.is_empty() && !String::from_utf8_lossy(&rest).contains("[DONE]"));
}

#[test]
fn an_sglang_server_answers_as_one() {
    let rules = Sglang { max_total_num_tokens: 4096, schedule_policy: SchedulePolicy::Lpm, ..Sglang::default() };
    let server = with(EngineConfig { engine: EngineKind::Sglang, sglang: rules, max_model_len: 512, ..small() });
    let body = json!({"model": "llama-3.1-8b", "prompt": words(10), "max_tokens": 5, "ignore_eos": true});
    let reply = post(server.addr(), "/v1/completions", &body);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["usage"]["completion_tokens"], 5);
    let info = get(server.addr(), "/server_info").json();
    assert_eq!(info["port"], server.addr().port());
    assert_eq!((&info["schedule_policy"], &info["max_total_num_tokens"]), (&json!("lpm"), &json!(4096)));
    assert_eq!(get(server.addr(), "/v1/models").json()["data"][0]["owned_by"], "sglang");
    let page = get(server.addr(), "/metrics");
    assert!(page.body.contains("sglang:num_requests_total{"), "the page");
    server.shutdown().unwrap();
    let vllm = with(EngineConfig { num_gpu_blocks: 1000, max_model_len: 512, ..small() });
    assert_eq!(get(vllm.addr(), "/server_info").status, 404);
}
