//! What the event loop does with connections: partial writes, many at once, one that never ends, and a run told to end.

use crate::{
    offer::{closed, offer, offer_with, offered, open, options, target, trace},
    server::{Act, STREAM, Server, chunk, stream},
};
use firstcheck_load::Control;
use firstcheck_model::{
    request::Fate,
    run::{Arrivals, RunState},
};
use firstcheck_workload::{
    prompt::{Piece, Prompt},
    trace::Due,
};
use std::time::Duration;

#[test]
fn a_request_that_the_socket_does_not_take_at_once_is_sent_in_full() {
    let server = Server::answering(stream(2));
    let text = "much to be read ".repeat(1 << 18);
    let mut item = offered(Due::WhenFree);
    item.prompt = Prompt::user(vec![Piece::Text(text.clone().into())]);
    let outcome = offer(&trace(Arrivals::Closed { concurrency: 2 }, vec![item; 2]), &target(&server.url()), &options());
    assert!(outcome.requests.0.iter().all(|request| request.fate == Fate::Completed));
    let posts = server.posts();
    assert_eq!(posts.len(), 2);
    assert!(posts.iter().all(|post| post.body["messages"][0]["content"].as_str() == Some(&text)));
}

#[test]
fn a_request_that_is_never_taken_is_given_up() {
    // The server takes the connection, and of the request no more than its sockets hold.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = target(&format!("http://{}", listener.local_addr().unwrap()));
    let mut item = offered(Due::WhenFree);
    item.prompt = Prompt::user(vec![Piece::Text("x".repeat(12 << 20).into())]);
    let mut options = options();
    options.scrape.metrics = false;
    options.limits.request = Duration::from_millis(300);
    std::thread::spawn(move || {
        // What asks for the deployment's identity is answered by a close, the rest is kept open.
        let mut kept = Vec::new();
        for socket in listener.incoming() {
            let mut start = [0_u8; 4];
            let socket = socket.unwrap();
            if socket.peek(&mut start).is_ok() && &start == b"POST" {
                kept.push(socket);
            }
        }
    });
    let outcome = offer(&trace(Arrivals::Closed { concurrency: 1 }, vec![item]), &target, &options);
    assert_eq!(outcome.requests[0].fate, Fate::TimedOut, "{:?}", outcome.requests[0].error);
    assert_eq!(outcome.requests[0].error.as_deref(), Some("timed out: no end after 0.3 s"));
}

#[test]
fn many_requests_may_be_due_at_once() {
    let server = Server::answering(stream(1));
    let outcome = offer(&open(300, Duration::ZERO), &target(&server.url()), &options());
    assert_eq!(outcome.requests.len(), 300);
    assert!(outcome.requests.0.iter().all(|request| request.fate == Fate::Completed));
    assert_eq!(outcome.events.len(), 300 * 5);
}

#[test]
fn a_stream_without_end_does_not_keep_the_others_waiting() {
    let flood: Vec<u8> = chunk("data: {\"choices\":[{\"delta\":{\"content\":\"more\"}}]}\n\n").repeat(1000);
    let server = Server::start(move |_, number| match number {
        0 => vec![Act::Write(STREAM.into()), Act::Repeat(flood.clone())],
        _ => vec![Act::Write(stream(2))],
    });
    let mut options = options();
    options.limits.request = Duration::from_secs(1);
    let outcome = offer(&open(50, Duration::from_millis(10)), &target(&server.url()), &options);
    let (ended, endless): (Vec<_>, Vec<_>) =
        outcome.requests.0.iter().partition(|request| request.fate == Fate::Completed);
    assert_eq!((ended.len(), endless.len()), (49, 1));
    assert_eq!(endless[0].error.as_deref(), Some("timed out: no end after 1 s"));
    assert!(ended.iter().all(|request| request.e2e().is_some_and(|e2e| e2e.0 < 0.9)));
}

#[test]
fn an_answer_that_ends_with_the_connection_is_whole() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_vec();
    let events: Vec<u8> =
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n".into();
    let server = Server::start(move |_, _| vec![Act::Write([head.clone(), events.clone()].concat()), Act::Close]);
    let outcome = offer(&closed(20, 2), &target(&server.url()), &options());
    assert!(outcome.requests.0.iter().all(|request| request.fate == Fate::Completed), "{:?}", outcome.requests[0]);
    assert_eq!(outcome.events.len(), 40);
}

#[test]
fn a_run_that_is_told_to_end_before_it_begins_sends_nothing() {
    let server = Server::answering(stream(1));
    let control = Control::default();
    control.stop.interrupt("changed my mind");
    for _ in 0..2 {
        let outcome = offer_with(&closed(10, 2), &target(&server.url()), &options(), &control);
        assert_eq!(outcome.finished.info.state, RunState::Interrupted { reason: "changed my mind".into() });
        assert!(outcome.requests.0.iter().all(|request| request.fate == Fate::NeverSent), "{:?}", outcome.requests);
    }
    assert!(server.posts().is_empty());
}
