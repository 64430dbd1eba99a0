//! What broken and hostile servers do is a counted, named failure of one request, and never more than that.

use crate::{
    offer::{closed, offer, options, target},
    server::{Act, STREAM, Server, chunk, delta, done, event, finish, stream, text, usage},
};
use firstcheck_load::Key;
use firstcheck_model::{
    request::{Fate, Finish},
    run::RunState,
};
use std::{net::TcpListener, time::Duration};

/// Runs one request against `acts`; gives its fate and error.
fn fate_of(acts: Vec<Act>) -> (Fate, String) {
    let server = Server::start(move |_, _| acts.clone());
    let mut options = options();
    options.limits.stall = Duration::from_millis(300);
    options.bounds.line = 64 << 10;
    options.bounds.body = 64 << 10;
    let outcome = offer(&closed(1, 1), &target(&server.url()), &options);
    assert_eq!(outcome.finished.info.state, RunState::Complete);
    let request = &outcome.requests[0];
    assert!(request.sent.reached() && request.done.reached(), "{request:?}");
    let error = request.error.clone().unwrap_or_default();
    if request.fate != Fate::Completed {
        let name = error.split(": ").next().unwrap();
        assert_eq!(outcome.finished.failures.get(name), Some(&1), "{error}: {:?}", outcome.finished.failures);
    }
    (request.fate, error)
}

fn begun() -> Vec<u8> {
    [STREAM.as_bytes().to_vec(), delta(r#"{"role":"assistant"}"#), text("Hello")].concat()
}

fn then(bytes: impl AsRef<[u8]>) -> Vec<Act> {
    vec![Act::Write([&begun(), bytes.as_ref()].concat())]
}

fn status(line: &str, body: &str) -> Vec<Act> {
    vec![Act::Write(format!("HTTP/1.1 {line}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes())]
}

/// What a server writes, and the fate and error that it must get.
type Case = (Vec<Act>, Fate, &'static str);

fn with(mut acts: Vec<Act>, act: Act) -> Vec<Act> {
    acts.push(act);
    acts
}

/// Answers that fail before their stream says anything: connection, status, head, size.
fn answers() -> Vec<Case> {
    vec![
        (
            status("429 Too Many Requests", r#"{"error":{"message":"slow down"}}"#),
            Fate::Rejected,
            "http 429: slow down",
        ),
        (status("503 Service Unavailable", "overloaded"), Fate::Rejected, "http 503: overloaded"),
        (status("500 Internal Server Error", ""), Fate::Failed, "http 500"),
        (
            status("404 Not Found", r#"{"object":"error","message":"no such model"}"#),
            Fate::Failed,
            "http 404: no such model",
        ),
        (with(then(""), Act::Reset), Fate::Failed, "reset"),
        (with(then(""), Act::Close), Fate::Failed, "closed early"),
        (vec![Act::Close], Fate::Failed, "closed early"),
        (with(then(""), Act::Hang), Fate::TimedOut, "stalled: nothing came for 0.3 s"),
        (vec![Act::Hang], Fate::TimedOut, "stalled: nothing came for 0.3 s"),
        (
            vec![Act::Write(begun()), Act::Repeat(chunk(vec![b'x'; 8192]))],
            Fate::Failed,
            "line too long: a line of the event stream is longer than 65536 bytes",
        ),
        (
            vec![
                Act::Write(b"HTTP/1.1 200 OK\r\n".to_vec()),
                Act::Repeat(b"x: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".to_vec()),
            ],
            Fate::Failed,
            "head too large: the answer's head is longer than 65536 bytes",
        ),
        (
            vec![Act::Write(b"HTTP/1.1 500 Oops\r\n\r\n".to_vec()), Act::Repeat(vec![b'x'; 8192])],
            Fate::Failed,
            "body too large: the answer's body is longer than 65536 bytes",
        ),
        (vec![Act::Write(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec())], Fate::Failed, "not http"),
        (vec![Act::Write(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n".to_vec())], Fate::Failed, "bad head"),
        (
            vec![Act::Write(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 0\r\n\r\n".to_vec())],
            Fate::Failed,
            "unsupported coding",
        ),
        (
            status("200 OK", r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#),
            Fate::Failed,
            "not streamed",
        ),
    ]
}

/// Answers whose stream says it: chunks, events, how they end.
fn streams() -> Vec<Case> {
    vec![
        (then([finish("stop"), usage(1, 1), done()].concat()), Fate::Completed, ""),
        (
            then(chunk(b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}\n\n")),
            Fate::Failed,
            "invalid utf-8",
        ),
        (then(event(r#"{"choices":[{"delta":"#)), Fate::Failed, "invalid json"),
        (then([finish("stop"), b"0\r\n\r\n".to_vec()].concat()), Fate::Truncated, "no [DONE]"),
        (then(b"0\r\n\r\n"), Fate::Truncated, "no [DONE]"),
        (then(done()), Fate::Truncated, "no finish reason"),
        (then("not a chunk size\r\n"), Fate::Failed, "bad chunk"),
        (then("5\r\ntoo long for five"), Fate::Failed, "bad chunk"),
        (
            then(event(r#"{"error":{"message":"out of memory"}}"#)),
            Fate::Failed,
            "server error: the server says: out of memory",
        ),
    ]
}

#[test]
fn each_failure_has_its_name() {
    for (acts, fate, error) in answers().into_iter().chain(streams()) {
        let shown: Vec<String> = acts.iter().map(|act| format!("{act:?}").chars().take(80).collect()).collect();
        let got = fate_of(acts);
        assert_eq!(got.0, fate, "{}: {shown:?}", got.1);
        assert!(
            got.1.starts_with(error) && error.is_empty() == got.1.is_empty(),
            "{:?} against {error:?}: {shown:?}",
            got.1
        );
    }
}

#[test]
fn a_refused_connection_is_counted_and_the_run_goes_on() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcome = offer(&closed(5, 2), &target(&format!("http://{free}")), &options());
    assert_eq!(outcome.requests.len(), 5);
    for request in &outcome.requests.0 {
        assert_eq!((request.fate, request.error.as_deref()), (Fate::Failed, Some("connection refused")));
        assert!(!request.sent.reached());
    }
    assert_eq!(outcome.finished.failures.get("connection refused"), Some(&5));
}

#[test]
fn a_request_that_takes_too_long_is_given_up() {
    let server = Server::start(|_, _| vec![Act::Write(begun()), Act::Hang]);
    let mut options = options();
    options.limits.request = Duration::from_millis(200);
    let outcome = offer(&closed(1, 1), &target(&server.url()), &options);
    assert_eq!(outcome.requests[0].fate, Fate::TimedOut);
    assert_eq!(outcome.requests[0].error.as_deref(), Some("timed out: no end after 0.2 s"));
    assert!(outcome.requests[0].first_token.reached(), "what had come by then is kept");
    assert_eq!(outcome.events.len(), 2);
}

#[test]
fn too_many_failures_end_the_run() {
    let server = Server::start(|_, _| vec![Act::Reset]);
    let mut options = options();
    options.limits.errors = Some(3);
    let outcome = offer(&closed(1000, 1), &target(&server.url()), &options);
    let RunState::Interrupted { reason } = &outcome.finished.info.state else { panic!("the run went on") };
    assert_eq!(reason, "more than 3 requests failed, the last with: reset");
    assert!(outcome.requests.len() < 1000);
}

#[test]
fn rejections_do_not_end_the_run() {
    let server = Server::start(|_, _| status("429 Too Many Requests", ""));
    let mut options = options();
    options.limits.errors = Some(3);
    let outcome = offer(&closed(20, 1), &target(&server.url()), &options);
    assert_eq!(outcome.finished.info.state, RunState::Complete);
    assert!(outcome.requests.0.iter().all(|request| request.fate == Fate::Rejected));
    assert_eq!(outcome.requests.len(), 20);
}

#[test]
fn an_idle_connection_that_the_server_closed_fails_nothing() {
    let server = Server::start(|_, _| vec![Act::Write(stream(2)), Act::Close]);
    let outcome = offer(&closed(6, 1), &target(&server.url()), &options());
    for request in &outcome.requests.0 {
        assert_eq!((request.fate, request.finish), (Fate::Completed, Some(Finish::Length)), "{request:?}");
    }
}

#[test]
fn a_forced_length_that_is_not_reached_is_cut_off() {
    let server = Server::answering(stream(3));
    let mut items = closed(1, 1).items.clone();
    items[0].output_tokens = Some(5);
    let trace = crate::offer::trace(firstcheck_model::run::Arrivals::Closed { concurrency: 1 }, items);
    let outcome = offer(&trace, &target(&server.url()), &options());
    assert_eq!(outcome.requests[0].fate, Fate::Truncated);
    assert_eq!(outcome.requests[0].error.as_deref(), Some("short: 3 of 5 forced tokens"));
}

#[test]
fn a_key_that_the_server_repeats_is_not_recorded() {
    let said = r#"{"error":{"message":"key sk-very-secret of tenant hidden-tenant is unknown"}}"#;
    let inside = [begun(), event(r#"{"error":{"message":"bad key sk-very-secret"}}"#)].concat();
    for acts in [status("401 Unauthorized", said), vec![Act::Write(inside)]] {
        let server = Server::start(move |_, _| acts.clone());
        let mut target = target(&server.url());
        target.key = Some(Key::new("sk-very-secret", "TEST_KEY").unwrap());
        target.headers = vec![("x-tenant".into(), "hidden-tenant".into())];
        let outcome = offer(&closed(1, 1), &target, &options());
        let error = outcome.requests[0].error.clone().unwrap();
        assert!(error.contains("key (redacted)"), "{error}");
        for secret in ["very-secret", "hidden-tenant"] {
            assert!(!error.contains(secret), "{error}");
        }
    }
}
