//! The engine's clock against real time.

use super::client::{metric, post};
use crate::play::small;
use firstcheck_sim::{
    EngineConfig, Linear, Timing,
    serve::{ServeError, ServeOptions, Server},
};
use serde_json::json;
use std::time::{Duration, Instant};

fn start(step: f64, time_scale: f64) -> Server {
    let timing = Timing::Linear(Linear { base: step, per_token: 0.0, per_sequence: 0.0, per_kv_token: 0.0 });
    let config = EngineConfig { timing, ..small() };
    Server::start(config, ServeOptions { time_scale, ..ServeOptions::default() }).unwrap()
}

/// Real time of an answer of 50 tokens.
fn fifty_tokens(server: &Server) -> Duration {
    let ask = json!({"prompt": "apple", "max_tokens": 50, "ignore_eos": true, "stream": true});
    let began = Instant::now();
    assert_eq!(post(server.addr(), "/v1/completions", &ask).events().len(), 50);
    began.elapsed()
}

#[test]
fn steps_take_their_real_time_and_lateness_does_not_add_up() {
    let server = start(0.007, 1.0);
    let took = fifty_tokens(&server).as_secs_f64();
    // 350 ms of steps; a timer that is late by 1 ms at each would add 50 ms, a busy host adds what it adds.
    assert!(took >= 0.35, "{took}");
    let sum = metric(server.addr(), "vllm:request_decode_time_seconds_sum", "");
    assert!((sum - 49.0 * 0.007).abs() < 1e-6 || took > 0.45, "the page states {sum} s, the client saw {took} s");
}

#[test]
fn a_scale_makes_time_pass_faster() {
    let server = start(1.0, 1000.0);
    let took = fifty_tokens(&server);
    assert!(took >= Duration::from_millis(50), "{took:?}");
    assert!(took < Duration::from_secs(25), "half of what it would take unscaled: {took:?}");
    assert!(metric(server.addr(), "vllm:e2e_request_latency_seconds_sum", "") >= 50.0);
}

#[test]
fn in_virtual_time_steps_cost_nothing_and_the_page_tells_virtual_time() {
    let server = start(100.0, f64::INFINITY);
    assert!(fifty_tokens(&server) < Duration::from_secs(15));
    let decode = metric(server.addr(), "vllm:request_decode_time_seconds_sum", "");
    assert!((decode - 4900.0).abs() < 1e-6, "{decode}");
}

#[test]
fn a_scale_that_is_none_is_refused() {
    for time_scale in [0.0, -1.0, f64::NAN] {
        let options = ServeOptions { time_scale, ..ServeOptions::default() };
        assert!(matches!(Server::start(small(), options), Err(ServeError::TimeScale(_))));
    }
}

#[test]
fn an_address_in_use_is_named() {
    let server = start(0.001, 1.0);
    let options = ServeOptions { addr: server.addr(), ..ServeOptions::default() };
    let error = Server::start(small(), options).unwrap_err().to_string();
    assert!(error.contains(&server.addr().to_string()), "{error}");
}
