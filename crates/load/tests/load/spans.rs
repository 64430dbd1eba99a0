//! Spans that a deployment exports while the run goes on.

use crate::{
    offer::{closed, offer, offer_with, options, target},
    server::{Act, Received, Server, stream},
};
use firstcheck_bundle::Bundle;
use firstcheck_load::{Control, Options, Spans};
use firstcheck_observe::otlp::{Limits, Receiver};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

fn listening(late: Duration) -> (Arc<Receiver>, Options) {
    let receiver = Arc::new(Receiver::start("127.0.0.1:0".parse().unwrap(), Limits::default()).unwrap());
    let mut options = options();
    options.spans = Some(Spans { receiver: Arc::clone(&receiver), late });
    (receiver, options)
}

/// Exports the span of a trace, and returns when it was taken.
fn export(to: SocketAddr, trace: &str) {
    let body = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{trace}","spanId":"00000000000000aa",
        "name":"llm_request","startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000001000000000"}}]}}]}}]}}"#
    );
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let mut socket = TcpStream::connect(to).unwrap();
    socket.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

fn trace_of(request: &Received) -> String {
    request.header("traceparent").unwrap().split('-').nth(1).unwrap().to_owned()
}

#[test]
fn exported_spans_are_written_with_the_run() {
    let (receiver, options) = listening(Duration::ZERO);
    let addr = receiver.addr();
    let server = Server::start(move |request, _| {
        export(addr, &trace_of(request));
        vec![Act::Write(stream(2))]
    });
    let outcome = offer(&closed(5, 1), &target(&server.url()), &options);
    let spans = outcome.bundle.traces().unwrap();
    let sent: Vec<_> = outcome.requests.0.iter().map(|request| request.trace_id.clone().unwrap()).collect();
    assert_eq!(spans.iter().map(|span| span.trace_id.clone()).collect::<Vec<_>>(), sent);
    let tally = outcome.finished.spans.unwrap();
    assert_eq!((tally.exports, tally.spans, tally.refused), (5, 5, 0));
    assert!(outcome.bundle.info().warnings.iter().all(|warning| !warning.contains("span")));
    // The receiver serves the next run as well, and what came in between is nobody's.
    export(addr, &"1".repeat(32));
    let outcome = offer(&closed(2, 1), &target(&server.url()), &options);
    assert_eq!(outcome.bundle.traces().unwrap().len(), 2);
}

#[test]
fn spans_that_were_written_outlive_a_killed_run() {
    let (receiver, mut options) = listening(Duration::ZERO);
    options.limits.stall = Duration::from_secs(60);
    let addr = receiver.addr();
    let folder = tempfile::tempdir().unwrap();
    let (run, copy) = (folder.path().join("run"), folder.path().join("copy"));
    let (control, dir, copied) = (Control::default(), run.clone(), copy.clone());
    let stop = control.stop.clone();
    let server = Server::start(move |request, number| {
        if number < 3 {
            export(addr, &trace_of(request));
            return vec![Act::Write(stream(2))];
        }
        // What is on disk now is what a `kill -9` would leave. The journal's thread writes what it was handed in order,
        // so it is looked at until the spans are there.
        while !Bundle::open(&dir).is_ok_and(|bundle| bundle.traces().is_ok_and(|spans| spans.len() == 3)) {
            std::thread::yield_now();
        }
        copy_folder(&dir, &copied);
        stop.interrupt("seen enough");
        vec![Act::Hang]
    });
    firstcheck_load::run(&closed(9, 1), &target(&server.url()), &options, &run, &control).unwrap();
    assert_eq!(Bundle::open(&copy).unwrap().traces().unwrap().len(), 3);
    assert!(Bundle::open(&copy).unwrap().salvage().is_some());
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_run_to_which_nothing_was_exported_says_so() {
    let (receiver, options) = listening(Duration::ZERO);
    let server = Server::answering(stream(2));
    let outcome = offer(&closed(1, 1), &target(&server.url()), &options);
    let warnings = outcome.bundle.info().warnings.join("\n");
    assert!(warnings.contains(&format!("no span was exported to {}", receiver.url())), "{warnings}");
}

#[test]
fn a_run_that_is_told_to_end_awaits_no_late_spans() {
    let (_receiver, options) = listening(Duration::from_secs(600));
    let control = Control::default();
    let stop = control.stop.clone();
    let server = Server::start(move |_, _| {
        stop.interrupt("seen enough");
        vec![Act::Hang]
    });
    let outcome = offer_with(&closed(2, 1), &target(&server.url()), &options, &control);
    assert_eq!(outcome.finished.spans.unwrap().exports, 0);
}
