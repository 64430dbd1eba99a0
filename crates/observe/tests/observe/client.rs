//! What the client asks, and what it makes of hostile answers.

use crate::server::{Server, raw};
use firstcheck_observe::{Address, Error, Headers, HttpClient, Settings};
use std::time::Duration;
use tokio::net::TcpListener;

fn client(body_limit: usize, total: Duration) -> HttpClient {
    HttpClient::new(&Settings { body_limit, total, ..Settings::default() }).unwrap()
}

fn patient() -> HttpClient {
    client(1 << 20, Duration::from_secs(30))
}

#[tokio::test]
async fn headers_of_the_caller_are_sent_and_never_shown() {
    let server = Server::start(&[("/x", 200, "yes")]).await;
    let headers = Headers::default().bearer("hunter2").unwrap().parse("X-Team: blue hunter2").unwrap();
    let headers = headers.add("accept", "text/html").unwrap();
    let answer = patient().get(&server.base.join("/x?a=b"), &headers, "text/plain").await.unwrap();
    assert_eq!((&answer.body[..], answer.content_type.as_deref()), (&b"yes"[..], Some("application/json")));
    assert!(answer.sent <= answer.head && answer.head <= answer.done);
    let (path, sent) = server.seen().remove(0);
    let expected = [
        ("authorization", "Bearer hunter2"),
        ("x-team", "blue hunter2"),
        ("accept", "text/html"),
        ("accept-encoding", "identity"),
        ("connection", "close"),
    ];
    assert_eq!(path, "/x?a=b");
    for (name, value) in expected {
        assert_eq!(sent.get_all(name).iter().collect::<Vec<_>>(), [value], "{name}");
    }
    let host = format!("127.0.0.1:{}", server.base.port());
    assert_eq!(sent.get("host").unwrap(), host.as_str());
    assert!(!format!("{headers:?}").contains("hunter2"), "{headers:?}");
}

#[test]
fn headers_that_cannot_be_sent_are_refused_without_their_values() {
    let refused = [
        Headers::default().bearer("hunter2\n"),
        Headers::default().add("no name", "hunter2"),
        Headers::default().parse("hunter2"),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn a_status_is_named_with_what_the_server_said() {
    let long: &str = Box::leak("x\n".repeat(1000).into_boxed_str());
    let routes = [("/a", 503, "loading model"), ("/b", 307, "https://elsewhere/"), ("/c", 500, ""), ("/d", 400, long)];
    let server = Server::start(&routes).await;
    let base = server.base.to_string();
    let base = base.trim_end_matches('/');
    let cases = [
        ("/a", format!("{base}/a answered 503: loading model")),
        (
            "/b",
            format!("{base}/b answered 307: it redirects to https://elsewhere/; give that address if it is the one"),
        ),
        ("/c", format!("{base}/c answered 500")),
        ("/d", format!("{base}/d answered 400: {}", "x ".repeat(100).trim_end())),
        ("/e", format!("{base}/e answered 404: {{\"detail\":\"Not Found\"}}")),
    ];
    for (path, message) in cases {
        let error = patient().get(&server.base.join(path), &Headers::default(), "*/*").await.unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[tokio::test]
async fn a_body_up_to_the_limit_is_read_and_no_longer_one() {
    let server = Server::start(&[("/ten", 200, "0123456789")]).await;
    let get = async |limit| {
        client(limit, Duration::from_secs(30)).get(&server.base.join("/ten"), &Headers::default(), "*/*").await
    };
    assert_eq!(get(10).await.unwrap().body, "0123456789");
    let error = get(9).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 9, .. }), "{error}");
}

#[tokio::test]
async fn hostile_answers_are_named_errors() {
    let endless: &[u8] =
        Box::leak([b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &[b'x'; 100_000]].concat().into_boxed_slice());
    let long_head: &[u8] =
        Box::leak([b"HTTP/1.1 200 OK\r\nA: ".as_slice(), &[b'x'; 2_000_000]].concat().into_boxed_slice());
    let cases: [(&[u8], &str); 7] = [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "did not answer in full"),
        (b"", "did not answer in full"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "did not answer in full"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", "did not answer in full"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b", "encoding `gzip`"),
        (endless, "more than 50000 bytes"),
        (long_head, "did not answer in full"),
    ];
    for (answer, message) in cases {
        let base = raw(answer, false).await;
        let error = client(50_000, Duration::from_secs(30)).get(&base, &Headers::default(), "*/*").await.unwrap_err();
        assert!(
            error.to_string().contains(message),
            "{}: {error}",
            String::from_utf8_lossy(&answer[..answer.len().min(60)])
        );
    }
}

#[tokio::test]
async fn a_stall_ends_with_the_time_limit() {
    for answer in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"] {
        let base = raw(answer, true).await;
        let impatient = client(1 << 20, Duration::from_millis(60));
        let error = impatient.get(&base, &Headers::default(), "*/*").await.unwrap_err();
        assert_eq!(error.to_string(), format!("{base} did not answer in full within 0.06 s"));
    }
}

#[tokio::test]
async fn a_closed_port_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base: Address = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let error = patient().get(&base, &Headers::default(), "*/*").await.unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot connect to {base}: ")), "{error}");
}
