//! Several replicas behind one address.

use super::client::{get, post};
use crate::play::small;
use firstcheck_sim::{
    Deployment, EngineConfig,
    fault::{Fault, Severity},
    serve::{ServeError, ServeOptions, Server},
};
use serde_json::json;
use std::net::SocketAddr;

fn start(deployment: &Deployment, faults: &[&str]) -> Server {
    try_start(deployment, faults, false).unwrap()
}

fn try_start(deployment: &Deployment, faults: &[&str], healthy: bool) -> Result<Server, ServeError> {
    let faults: Vec<Fault> = faults.iter().map(|text| Fault::parse(text, Severity::Moderate).unwrap()).collect();
    let options = ServeOptions { time_scale: f64::INFINITY, healthy, ..ServeOptions::default() };
    Server::start_deployment(deployment, &faults, options)
}

fn ask(addr: SocketAddr, prompt: &str) -> serde_json::Value {
    let ask = json!({"prompt": prompt, "max_tokens": 5, "ignore_eos": true});
    let reply = post(addr, "/v1/completions", &ask);
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.json()
}

fn value(page: &str, name: &str) -> f64 {
    let line = page.lines().find(|line| line.split(['{', ' ']).next() == Some(name));
    line.unwrap_or_else(|| panic!("no {name}")).rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn each_replica_has_a_page_and_the_common_one_alternates() {
    let server = start(&Deployment::uniform(small(), 2), &[]);
    let addr = server.addr();
    for _ in 0..6 {
        ask(addr, "apple bread");
    }
    for replica in 0..2 {
        let page = get(addr, &format!("/replicas/{replica}/metrics")).body;
        assert_eq!(value(&page, "vllm:generation_tokens_total"), 15.0, "replica {replica}");
    }
    assert_eq!(get(addr, "/replicas/2/metrics").status, 404);
    assert_eq!(post(addr, "/replicas/0/metrics", &json!({})).status, 405);
    let starts: Vec<f64> = (0..4).map(|_| value(&get(addr, "/metrics").body, "process_start_time_seconds")).collect();
    assert!(starts[0] != starts[1] && starts[0] == starts[2] && starts[1] == starts[3], "{starts:?}");
}

#[test]
fn two_pools_answer_over_http() {
    let server = start(&Deployment::disaggregated(&small(), 1, 1), &[]);
    let answer = ask(server.addr(), "one two three four five six seven eight");
    assert_eq!(answer["usage"]["completion_tokens"], 5);
    let page = |replica: u32| get(server.addr(), &format!("/replicas/{replica}/metrics")).body;
    assert_eq!(value(&page(0), "vllm:generation_tokens_total"), 1.0);
    assert_eq!(value(&page(1), "vllm:generation_tokens_total"), 5.0);
    assert_eq!(value(&page(1), "vllm:nixl_bytes_transferred_count"), 1.0);
}

#[test]
fn faults_act_behind_http() {
    let server = start(&Deployment::single(small()), &["template-deploy:at=0,tokens=12"]);
    assert_eq!(ask(server.addr(), "apple bread")["usage"]["prompt_tokens"], 14);
}

#[test]
fn a_fault_that_needs_callers_of_its_own_is_refused() {
    let deployment = Deployment::single(EngineConfig { num_gpu_blocks: 1000, ..small() });
    for fault in ["gpu-saturated", "retry-storm", "client-gate", "proxy-gathers", "cell-before-filled-cache@5s.."] {
        let refused = try_start(&deployment, &["slow-replica", fault], false).unwrap_err();
        let slug = fault.split('@').next().unwrap();
        assert!(matches!(refused, ServeError::Callers { fault } if fault == slug), "{fault}: {refused}");
        start_and_end(try_start(&deployment, &[fault], true));
    }
    for fault in ["slow-replica@5s..", "hang-transport", "answers-longer", "images-larger"] {
        start_and_end(try_start(&deployment, &[fault], false));
    }
}

fn start_and_end(started: Result<Server, ServeError>) {
    started.unwrap().shutdown().unwrap();
}

#[test]
fn nobody_answers_for_an_engine_that_did_not_start() {
    let mut broken = small();
    broken.memory.unknown_argument = Some("--swap-space 4".into());
    let server = start(&Deployment::single(broken), &[]);
    let reply = post(server.addr(), "/v1/completions", &json!({"prompt": "apple", "max_tokens": 5}));
    assert_eq!(reply.status, 503, "{}", reply.body);
}
