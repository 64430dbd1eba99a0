//! What is offered when, what is recorded of it, and how a run ends.

use crate::{
    offer::{closed, offer, offer_with, offered, open, options, target, trace},
    server::{Act, STREAM, Server, chunk, delta, done, event, finish, stream, text, usage},
};
use firstcheck_load::{Api, Control, Key};
use firstcheck_model::{
    moment::{Moment, Window},
    request::{Fate, Finish},
    run::{Arrivals, RunState},
};
use firstcheck_workload::trace::Due;
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

#[test]
fn an_open_loop_keeps_the_plan_s_times() {
    let server = Server::answering(stream(3));
    let outcome = offer(&open(40, Duration::from_millis(5)), &target(&server.url()), &options());
    assert_eq!(outcome.requests.len(), 40);
    for (row, request) in (0..).zip(&outcome.requests.0) {
        assert_eq!(request.intended, Moment::at(row * 5_000_000), "intended times do not depend on earlier sends");
        assert!(request.sent >= request.intended, "row {row} was sent too early");
        assert!(request.intended <= request.sent && request.sent <= request.first_byte);
        assert!(request.first_byte <= request.first_token && request.first_token <= request.last_token);
        assert!(request.last_token <= request.done);
        assert_eq!((request.fate, request.finish), (Fate::Completed, Some(Finish::Length)));
        assert_eq!((request.prompt_tokens, request.output_tokens), (Some(7), Some(3)));
    }
    let end = Moment::at(39 * 5_000_000 + 1);
    assert_eq!(outcome.finished.info.window, Some(Window { start: Moment::at(0), end }));
    let health = outcome.finished.info.client.as_ref().unwrap();
    assert_eq!(health.driven_share, Some(1.0));
}

#[test]
fn a_role_chunk_is_an_event_but_not_the_first_token() {
    let server = Server::answering(stream(2));
    let outcome = offer(&closed(1, 1), &target(&server.url()), &options());
    let tokens: Vec<_> = outcome.events_of(0).iter().map(|event| event.tokens).collect();
    // Role, two tokens, finish, usage, [DONE].
    assert_eq!(tokens, [Some(0), None, None, Some(0), Some(0), Some(0)]);
    let request = &outcome.requests[0];
    let first = outcome.events_of(0)[1].since_sent_ns;
    assert_eq!(request.first_token.ns_since(request.sent), Some(first));
}

#[test]
fn an_answer_that_stops_after_its_role_has_no_first_token() {
    let role = [STREAM.as_bytes().to_vec(), delta(r#"{"role":"assistant","content":""}"#)].concat();
    let server = Server::start(move |_, _| vec![Act::Write(role.clone()), Act::Hang]);
    let mut options = options();
    options.limits.stall = Duration::from_millis(200);
    let outcome = offer(&closed(1, 1), &target(&server.url()), &options);
    let request = &outcome.requests[0];
    assert!(request.first_byte.reached() && !request.first_token.reached(), "{request:?}");
}

#[test]
fn several_tokens_in_an_event_are_told_by_the_total() {
    let mut bytes = STREAM.as_bytes().to_vec();
    for _ in 0..3 {
        bytes.extend(text(" four tokens at once"));
    }
    bytes.extend([finish("stop"), usage(5, 12), done()].concat());
    let server = Server::answering(bytes);
    let outcome = offer(&closed(1, 1), &target(&server.url()), &options());
    let evidence = outcome.bundle.evidence("test").unwrap();
    let streams = evidence.streams.unwrap();
    // Three events: two gaps an event, and eleven gaps a token, of which nine are zero.
    assert_eq!((streams.events[0], streams.event_gaps.count(), streams.itl.count()), (3, 2, 11));
}

#[test]
fn comments_crlf_and_split_events_change_nothing() {
    let odd = [
        STREAM.as_bytes().to_vec(),
        chunk(": ping\n\n"),
        chunk("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\nda"),
        chunk("ta: {\"choices\":[{\"delta\":\ndata: {\"reasoning_content\":\"b\"}}]}\n\n"),
        chunk("event: message\nid: 3\ndata:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"c\"}}]}}]}\n\n"),
        finish("tool_calls"),
        usage(1, 3),
        done(),
    ]
    .concat();
    for bytes_a_write in [1, 7, odd.len()] {
        let acts: Vec<Act> = odd.chunks(bytes_a_write).map(|bytes| Act::Write(bytes.to_vec())).collect();
        let server = Server::start(move |_, _| acts.clone());
        let outcome = offer(&closed(1, 1), &target(&server.url()), &options());
        let tokens: Vec<_> = outcome.events_of(0).iter().map(|event| event.tokens).collect();
        assert_eq!(tokens, [None, None, None, Some(0), Some(0), Some(0)]);
        assert_eq!((outcome.requests[0].fate, outcome.requests[0].finish), (Fate::Completed, Some(Finish::ToolCalls)));
    }
}

#[test]
fn a_closed_loop_has_as_many_in_flight_as_it_has_streams() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (in_flight, peak) = (Arc::clone(&now), Arc::clone(&most));
    let server = Server::start(move |_, _| {
        peak.fetch_max(in_flight.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        in_flight.fetch_sub(1, Ordering::SeqCst);
        vec![Act::Write(stream(20))]
    });
    let outcome = offer(&closed(60, 4), &target(&server.url()), &options());
    assert_eq!(outcome.requests.len(), 60);
    assert!(outcome.requests.0.iter().all(|request| request.fate == Fate::Completed));
    assert!(most.load(Ordering::SeqCst) <= 4);
    let connections: BTreeSet<usize> = server.posts().iter().map(|request| request.connection).collect();
    assert!(connections.len() <= 4, "connections are kept alive: {connections:?}");
    let mut sends: Vec<(Moment, i64)> = Vec::new();
    for request in &outcome.requests.0 {
        sends.push((request.sent, 1));
        sends.push((request.done, -1));
    }
    sends.sort();
    let most = sends
        .iter()
        .scan(0, |open, (_, step)| {
            *open += step;
            Some(*open)
        })
        .max();
    assert!(most <= Some(4), "{most:?}");
}

#[test]
fn a_cap_holds_back_an_open_loop_and_shows_as_lag() {
    let server = Server::start(|_, _| vec![Act::Write(STREAM.into()), Act::Hang]);
    let mut options = options();
    options.limits.in_flight = 2;
    options.limits.stall = Duration::from_millis(200);
    let outcome = offer(&open(4, Duration::ZERO), &target(&server.url()), &options);
    let lags: Vec<f64> = outcome.requests.0.iter().map(|request| request.send_lag().unwrap().0).collect();
    assert!(lags[..2].iter().all(|lag| *lag < 0.2) && lags[2..].iter().all(|lag| *lag >= 0.2), "{lags:?}");
    let health = outcome.finished.info.client.as_ref().unwrap();
    let doubt = health.doubt(firstcheck_model::metric::Metric::Ttft).unwrap();
    assert!(doubt.starts_with("sends are "), "{doubt}");
}

#[test]
fn turns_of_a_session_follow_each_other() {
    let turn = |row, think_ms: i64| Due::After { row, think_ns: think_ms * 1_000_000 };
    let dues = [Due::At(Moment::at(0)), turn(0, 30), turn(1, 0), Due::At(Moment::at(1)), turn(3, 10), turn(3, 20)];
    let trace = trace(Arrivals::Open { rate: 2.0, cv: None }, dues.into_iter().map(offered).collect());
    let server = Server::answering(stream(2));
    let outcome = offer(&trace, &target(&server.url()), &options());
    assert_eq!(outcome.requests.len(), 6);
    let gap = |row: usize, after: usize| {
        outcome.requests[row].intended.ns_since(outcome.requests[after].done).unwrap() / 1_000_000
    };
    assert!(gap(1, 0) >= 30 && gap(2, 1) >= 0 && gap(4, 3) >= 10 && gap(5, 3) >= 20);
    assert!(outcome.requests.0.iter().all(|request| request.sent >= request.intended));
}

#[test]
fn shards_offer_the_whole_plan_between_them() {
    let server = Server::answering(stream(2));
    let mut options = options();
    options.shards = 3;
    for trace in [open(30, Duration::from_millis(1)), closed(30, 5)] {
        let outcome = offer(&trace, &target(&server.url()), &options);
        assert_eq!(outcome.requests.len(), 30);
        assert!(outcome.requests.0.iter().all(|request| request.fate == Fate::Completed));
        assert_eq!(outcome.events.len(), 30 * 6);
    }
}

#[test]
fn the_window_ends_the_offering_and_answers_are_awaited() {
    let server = Server::answering(stream(2));
    let mut options = options();
    (options.warm_up, options.duration) = (Duration::from_millis(100), Some(Duration::from_millis(200)));
    let outcome = offer(&open(1000, Duration::from_millis(10)), &target(&server.url()), &options);
    assert_eq!(outcome.finished.info.state, RunState::Complete);
    assert_eq!(outcome.requests.len(), 30, "what would be due after the end is not offered");
    assert!(outcome.requests.0.iter().all(|request| request.fate == Fate::Completed));
    let window = Window { start: Moment::at(100_000_000), end: Moment::at(300_000_000) };
    assert_eq!(outcome.finished.info.window, Some(window));
    assert_eq!(outcome.requests.in_window(Some(window)).count(), 20);
}

#[test]
fn what_the_drain_does_not_see_answered_is_cancelled() {
    let server = Server::start(|_, _| vec![Act::Write([STREAM.as_bytes().to_vec(), text("a")].concat()), Act::Hang]);
    let mut options = options();
    options.duration = Some(Duration::from_millis(100));
    options.drain = Duration::from_millis(100);
    let outcome = offer(&closed(10, 2), &target(&server.url()), &options);
    assert_eq!(outcome.finished.info.state, RunState::Complete);
    assert_eq!(outcome.requests.len(), 2);
    for request in &outcome.requests.0 {
        assert_eq!(request.fate, Fate::Cancelled);
        assert!(request.first_token.reached(), "what came before stays: {request:?}");
    }
}

#[test]
fn an_interrupted_run_is_a_bundle_that_says_so() {
    let server = Server::start(|_, number| {
        let begun = [STREAM.as_bytes().to_vec(), text("a")].concat();
        if number < 8 { vec![Act::Write(stream(1))] } else { vec![Act::Write(begun), Act::Hang] }
    });
    let control = Control::default();
    let stop = control.stop.clone();
    let control = control.on_progress(move |progress| {
        if progress.done >= 1 && progress.at > Moment::at(150_000_000) {
            stop.interrupt("ctrl-c");
        }
    });
    let outcome = offer_with(&open(1000, Duration::from_millis(10)), &target(&server.url()), &options(), &control);
    assert_eq!(outcome.finished.info.state, RunState::Interrupted { reason: "ctrl-c".into() });
    assert_eq!(outcome.bundle.info().state, RunState::Interrupted { reason: "ctrl-c".into() });
    assert!(outcome.requests.0.iter().any(|request| request.fate == Fate::Completed));
    assert!(outcome.requests.0.iter().any(|request| request.fate == Fate::Cancelled));
    assert!(outcome.requests.0.iter().all(|request| request.fate != Fate::Failed));
    assert!(outcome.requests.len() < 1000);
}

#[test]
fn progress_tells_the_latencies_so_far_and_when_the_offering_ends() {
    let server = Server::answering(stream(3));
    let (told, seen) = std::sync::mpsc::channel();
    let control = Control::default().on_progress(move |progress| told.send(*progress).unwrap());
    let outcome = offer_with(&open(20, Duration::from_millis(10)), &target(&server.url()), &options(), &control);
    let last = seen.try_iter().last().unwrap();
    let answered: Vec<_> = outcome.requests.0.iter().filter_map(|request| request.ttft()).collect();
    assert_eq!((answered.len(), last.done, last.in_flight()), (20, 20, 0));
    let mean = answered.iter().map(|ttft| ttft.0).sum::<f64>() / 20.0;
    assert!((last.ttft.unwrap().0 - mean).abs() < 1e-9, "{last:?}, {mean}");
    assert!(last.itl.is_some_and(|itl| itl.0 >= 0.0), "{last:?}");
    assert!(last.until.is_some(), "{last:?}");
}

#[test]
fn the_request_is_what_was_asked_for_and_the_key_is_nowhere() {
    let server = Server::answering(stream(2));
    let mut target = target(&server.url());
    target.model = None;
    target.key = Some(Key::new("sk-very-secret", "TEST_KEY").unwrap());
    target.headers = vec![("x-tenant".into(), "hidden-tenant".into())];
    target.extra_body.insert("temperature".into(), 0.into());
    let mut items = closed(1, 1).items.clone();
    items[0].output_tokens = Some(2);
    let mut trace = (*trace(Arrivals::Closed { concurrency: 1 }, items)).clone();
    trace.salt = Some("salted".into());
    let outcome = offer(&Arc::new(trace), &target, &options());
    let posts = server.posts();
    let request = &posts[0];
    assert!(request.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.header("authorization"), Some("Bearer sk-very-secret"));
    assert_eq!(request.header("x-tenant"), Some("hidden-tenant"));
    assert_eq!(request.header("host"), Some(server.address.to_string().as_str()));
    let row = &outcome.requests[0];
    let trace_id = row.trace_id.clone().unwrap();
    let parent = request.header("traceparent").unwrap();
    assert!(
        parent.starts_with(&format!("00-{trace_id}-")) && parent.ends_with("-01") && parent.len() == 55,
        "{parent}"
    );
    assert_eq!(request.header("x-request-id"), Some(trace_id.as_str()));
    let expected = serde_json::json!({
        "model": "served-model", "messages": [{"role": "user", "content": "salted hello there"}], "max_tokens": 2,
        "ignore_eos": true, "stream": true, "stream_options": {"include_usage": true}, "temperature": 0,
    });
    assert_eq!(request.body, expected);
    assert_eq!((row.requested_tokens, row.fate), (Some(2), Fate::Completed));
    assert!(row.prompt_hash.is_some());
    for file in files(&outcome.finished.dir) {
        let bytes = std::fs::read(&file).unwrap();
        for secret in ["sk-very-secret", "hidden-tenant", "hello there"] {
            assert!(memchr::memmem::find(&bytes, secret.as_bytes()).is_none(), "{secret} in {}", file.display());
        }
    }
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn completions_and_answers_that_are_not_streamed() {
    let body =
        r#"{"choices":[{"text":"Hi there","finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":2}}"#;
    let bytes =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let server = Server::answering(bytes.into_bytes());
    let mut target = target(&format!("{}/v1", server.url()));
    (target.api, target.streaming) = (Api::Completions, false);
    let outcome = offer(&closed(2, 1), &target, &options());
    let request = &server.posts()[0];
    assert!(request.head.starts_with("POST /v1/completions HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.body, serde_json::json!({"model": "m", "prompt": "hello there", "stream": false}));
    for row in &outcome.requests.0 {
        assert_eq!((row.fate, row.finish, row.output_tokens), (Fate::Completed, Some(Finish::Stop), Some(2)));
        assert!(row.first_byte.reached() && !row.first_token.reached(), "the first token is not known");
        assert!(row.ttft().is_none() && row.e2e().is_some_and(|e2e| e2e.0.is_finite()));
    }
    assert!(outcome.events.is_empty());
    assert_eq!(outcome.finished.info.workload.streaming, Some(false));
}

#[test]
fn the_deployment_is_scraped_and_asked_who_it_is() {
    let server = Server::answering(stream(1));
    let extra = Server::answering(Vec::new());
    let mut options = options();
    (options.warm_up, options.duration) = (Duration::from_millis(100), Some(Duration::from_millis(100)));
    options.scrape.pages = vec![("node".into(), format!("{}/metrics", extra.url()))];
    let outcome = offer(&open(100, Duration::from_millis(10)), &target(&server.url()), &options);
    let signals = outcome.bundle.signals().unwrap();
    for page in ["main", "node"] {
        let series = signals.iter().find(|s| s.page == page && s.name == "vllm:num_preemptions_total").unwrap();
        let before = series.at.iter().filter(|at| **at < Moment::at(0)).count();
        let after = series.at.iter().filter(|at| **at >= Moment::at(200_000_000)).count();
        let between =
            series.at.iter().filter(|at| **at >= Moment::at(100_000_000) && **at < Moment::at(200_000_000)).count();
        assert!(before == 1 && after >= 1 && between >= 1, "{page}: {:?}", series.at);
        assert!(signals.iter().any(|s| s.page == page && s.name == "scrape_duration_seconds"));
    }
    let fingerprint = &outcome.finished.info.fingerprint;
    assert_eq!((fingerprint.get("model"), fingerprint.get("engine_version")), (Some("m"), Some("0.32.0")));
    assert!(outcome.bundle.attached().iter().any(|file| file.name == "models.json"));
    assert!(outcome.finished.info.clock.started_unix_ns.is_some());
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn the_last_event_of_each_read_carries_the_kernel_s_stamp() {
    let server = Server::answering(stream(40));
    let outcome = offer(&closed(5, 1), &target(&server.url()), &options());
    for row in 0..5 {
        let events = outcome.events_of(row);
        assert_eq!(events.len(), 44);
        assert!(events.last().unwrap().kernel_ns.is_some());
        for pair in events.windows(2) {
            let same_read = pair[0].since_sent_ns == pair[1].since_sent_ns;
            assert_eq!(pair[0].kernel_ns.is_none(), same_read, "{pair:?}");
        }
        for event in events.iter().filter(|event| event.kernel_ns.is_some()) {
            let delay = event.since_sent_ns - event.kernel_ns.unwrap();
            // A millisecond covers the difference between the two clocks' readings.
            assert!((-1_000_000..5_000_000_000).contains(&delay), "{event:?}");
        }
    }
    let health = outcome.finished.info.client.as_ref().unwrap();
    assert!(health.stamped_share.unwrap() > 0.0 && health.delay_p50.is_some());
    assert!(health.coalesced_share.unwrap() > 0.05, "events that came together are told");
    assert!(health.doubt(firstcheck_model::metric::Metric::Itl).unwrap().contains("arrived together"));
    assert!(health.doubt(firstcheck_model::metric::Metric::Ttft).is_none());
}

#[test]
fn errors_of_the_run_itself() {
    let server = Server::answering(stream(1));
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("run");
    let run = |trace: &Arc<_>, target: &_| {
        firstcheck_load::run(trace, target, &options(), &dir, &Control::default()).unwrap_err().to_string()
    };
    let plain = target(&server.url());
    assert_eq!(run(&open(0, Duration::ZERO), &plain), "the workload holds no request");
    let order = trace(Arrivals::Unknown, vec![offered(Due::After { row: 0, think_ns: 0 })]);
    assert!(run(&order, &plain).contains("does not come before it"));
    let no_time = trace(Arrivals::Unknown, vec![offered(Due::At(Moment::NEVER))]);
    assert!(run(&no_time, &plain).contains("due at a time but says none"));
    let streams = trace(Arrivals::Unknown, vec![offered(Due::WhenFree)]);
    assert!(run(&streams, &plain).contains("names no number of streams"));
    let mut headers = plain.clone();
    headers.headers = vec![("host".into(), "x".into())];
    assert!(run(&open(1, Duration::ZERO), &headers).contains("the client sets it itself"));
    let mut broken = plain.clone();
    broken.headers = vec![("x".into(), "a\r\nb: c".into())];
    assert!(!run(&open(1, Duration::ZERO), &broken).contains("b: c"));
    assert!(!dir.exists(), "nothing is written before everything is known to be usable");
}

#[test]
fn keys_are_not_shown() {
    let key = Key::new("sk-very-secret", "K").unwrap();
    assert!(!format!("{key:?}").contains("secret"));
    assert!(Key::new("two\r\nlines", "K").unwrap_err().to_string().contains('K'));
    assert!(Key::from_env("FIRSTCHECK_NO_SUCH_VARIABLE").is_err());
}

#[test]
fn a_body_as_given_keeps_its_fields() {
    let server = Server::answering(stream(1));
    let body = serde_json::json!({"model": "theirs", "messages": [{"role": "user", "content": "hi"}], "top_p": 0.5, "max_tokens": 9});
    let serde_json::Value::Object(map) = body else { panic!("an object") };
    let mut item = offered(Due::WhenFree);
    item.prompt = firstcheck_workload::prompt::Prompt::Body(Arc::new(map));
    let outcome = offer(&trace(Arrivals::Closed { concurrency: 1 }, vec![item]), &target(&server.url()), &options());
    let sent = &server.posts()[0].body;
    assert_eq!(
        (sent["model"].as_str(), sent["top_p"].as_f64(), sent["stream"].as_bool()),
        (Some("m"), Some(0.5), Some(true))
    );
    assert_eq!(outcome.requests[0].requested_tokens, Some(9));
    assert_eq!(event("x"), chunk("data: x\n\n"));
}

#[test]
fn a_short_closed_loop_that_used_up_its_trace_was_driven_as_asked() {
    // One slow answer at the end leaves the other streams without work: that is the trace's end, not the client's fault.
    let server = Server::start(|_, number| if number < 3 { vec![Act::Write(stream(1))] } else { vec![Act::Hang] });
    let mut options = options();
    options.limits.stall = Duration::from_millis(400);
    let outcome = offer(&closed(4, 4), &target(&server.url()), &options);
    let health = outcome.finished.info.client.as_ref().unwrap();
    assert_eq!(health.invalid(), None, "{health:?}");
}

#[test]
fn bytes_after_an_answer_end_the_connection() {
    let server = Server::start(|_, _| vec![Act::Write([stream(1), b"HTTP/1.1 200 OK\r\n".to_vec()].concat())]);
    let outcome = offer(&closed(3, 1), &target(&server.url()), &options());
    assert!(outcome.requests.0.iter().all(|request| request.fate == Fate::Completed));
    let connections: BTreeSet<usize> = server.posts().iter().map(|request| request.connection).collect();
    assert_eq!(connections.len(), 3);
}

/// What is on disk while the run goes on is what a `kill -9` leaves.
#[test]
fn a_killed_run_can_be_read() {
    let server = Server::start(|_, number| if number < 5 { vec![Act::Write(stream(3))] } else { vec![Act::Hang] });
    let folder = tempfile::tempdir().unwrap();
    let (dir, copy) = (folder.path().join("run"), folder.path().join("copy"));
    let mut options = options();
    options.duration = Some(Duration::from_secs(60));
    let control = Control::default();
    let (stop, from, to) = (control.stop.clone(), dir.clone(), copy.clone());
    let control = control.on_progress(move |progress| {
        // Rows are handed over each second.
        if progress.at > Moment::at(2_200_000_000) && stop.reason().is_none() {
            copy_folder(&from, &to);
            stop.interrupt("enough");
        }
    });
    firstcheck_load::run(&closed(9, 1), &target(&server.url()), &options, &dir, &control).unwrap();
    let bundle = firstcheck_bundle::Bundle::open(&copy).unwrap();
    assert!(matches!(&bundle.info().state, RunState::Interrupted { reason } if reason.contains("killed")));
    assert!(bundle.info().clock.started_unix_ns.is_some());
    assert_eq!(bundle.info().window, Some(Window { start: Moment::at(0), end: Moment::at(60_000_000_000) }));
    let fates: Vec<Fate> = bundle.requests().unwrap().0.iter().map(|request| request.fate).collect();
    assert_eq!(fates, [[Fate::Completed; 5].as_slice(), &[Fate::Cancelled]].concat());
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &name);
        } else {
            std::fs::copy(&path, &name).unwrap();
        }
    }
}
