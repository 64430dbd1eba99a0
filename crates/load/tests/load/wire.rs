//! The readers of an answer: any split of the bytes gives the same, and invalid input is named.

use firstcheck_load::wire::{
    bounds::Bounds,
    error::WireError,
    response::{Head, Piece, Response},
    sse::EventStream,
    template::Template,
};
use proptest::prelude::*;

/// What an answer gave: its head, the data of its events, and how reading ended.
#[derive(Debug, PartialEq)]
struct Read {
    head: Option<Head>,
    events: Vec<String>,
    end: Result<bool, &'static str>,
}

/// Reads `bytes` as a socket would bring them: cut at `cuts`.
fn read(bytes: &[u8], cuts: &[usize], bounds: Bounds) -> Read {
    let (mut response, mut stream) = (Response::new(&bounds), EventStream::new(&bounds));
    let (mut head, mut events, mut ended) = (None, Vec::new(), false);
    let mut go = |mut input: &[u8]| -> Result<bool, WireError> {
        while let Some(piece) = response.next(&mut input)? {
            match piece {
                Piece::Head(read) => head = Some(read),
                Piece::End => ended = true,
                Piece::Body(mut body) => {
                    while let Some(event) = stream.next(&mut body)? {
                        events.push(String::from_utf8_lossy(event).into_owned());
                    }
                }
            }
        }
        Ok(ended)
    };
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let mut end = Ok(false);
    for pair in cuts.windows(2) {
        end = go(&bytes[pair[0]..pair[1]]).map_err(|e| e.name());
        if end.is_err() {
            break;
        }
    }
    Read { head, events, end }
}

fn chunked(pieces: &[&str]) -> Vec<u8> {
    let mut bytes =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for piece in pieces {
        bytes.extend_from_slice(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes());
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

#[test]
fn events_by_the_standard() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["data: a\n\n", "data: b\n\n"], &["a", "b"]),
        (&["data: a\r\n\r\ndata: b\r\n\r\n"], &["a", "b"]),
        (&["data: a\r\rdata: b\r\r"], &["a", "b"]),
        (&["data:a\n\ndata:  b\n\n"], &["a", " b"]),
        (&[": ping\n\n", "event: x\nid: 1\nretry: 3\ndata: a\n\n"], &["a"]),
        (&["data: a\ndata: b\ndata\n\n"], &["a\nb\n"]),
        (&["da", "ta: split", " up\n", "\n"], &["split up"]),
        (&["\u{feff}data: a\n\n"], &["a"]),
        (&["database: no\n\ndata: yes\n\n"], &["yes"]),
        (&["data\n\n"], &[""]),
        (&["data: without end\n"], &[]),
    ];
    for (pieces, expected) in cases {
        let got = read(&chunked(pieces), &[], Bounds::default());
        assert_eq!(got.events, *expected, "{pieces:?}");
        assert_eq!(got.end, Ok(true), "{pieces:?}");
    }
}

#[test]
fn what_came_without_an_empty_line_is_given_at_the_end() {
    for (bytes, expected) in
        [("data: a\n", Some("a")), ("data: a", Some("a")), ("data: a\n\n", None), (": x", None), ("", None)]
    {
        let mut stream = EventStream::new(&Bounds::default());
        let mut input = bytes.as_bytes();
        while stream.next(&mut input).unwrap().is_some() {}
        assert_eq!(stream.finish().unwrap(), expected.map(str::as_bytes), "{bytes:?}");
    }
}

#[test]
fn heads_say_how_the_body_ends() {
    let cases: &[(&str, u16, bool, Result<bool, &str>)] = &[
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200, true, Ok(true)),
        ("HTTP/1.1 204 No Content\r\n\r\n", 204, true, Ok(true)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", 200, false, Ok(true)),
        ("HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\nabc", 200, false, Ok(true)),
        ("HTTP/1.0 200 OK\r\ncontent-length: 3\r\nconnection: Keep-Alive\r\n\r\nabc", 200, true, Ok(true)),
        ("HTTP/1.1 200 OK\r\n\r\nabc", 200, false, Ok(false)),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow down\r\ncontent-length: 0\r\n\r\n", 429, true, Ok(true)),
        ("HTTP/1.1 200 OK\ncontent-length: 1\n\na", 200, true, Ok(true)),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 9\r\n\r\n1;x=y\r\na\r\n0\r\nt: u\r\n\r\n",
            200,
            true,
            Ok(true),
        ),
    ];
    for (bytes, status, keep_alive, end) in cases {
        let got = read(bytes.as_bytes(), &[], Bounds::default());
        let head = got.head.unwrap_or_else(|| panic!("no head in {bytes:?}: {:?}", got.end));
        assert_eq!((head.status, head.keep_alive, got.end), (*status, *keep_alive, *end), "{bytes:?}");
    }
}

#[test]
fn invalid_answers_are_named() {
    let small = Bounds { head: 256, line: 16, event: 24, body: 64 };
    let long_head = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(300));
    let chunk = |body: &str| format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{body}");
    let cases: &[(String, &str)] = &[
        ("SSH-2.0-x\r\n".into(), "not http"),
        ("\u{16}\u{3}\u{1}".into(), "not http"),
        ("HTTP/2 200\r\n\r\n".into(), "not http"),
        (long_head, "head too large"),
        ("HTTP/1.1 abc\r\n\r\n".into(), "bad head"),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n".into(), "bad head"),
        ("HTTP/1.1 200 OK\r\ncontent-length: +3\r\n\r\n".into(), "bad head"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\n".into(), "bad head"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n".into(), "unsupported coding"),
        ("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n".into(), "unsupported coding"),
        (chunk("xyz\r\n"), "bad chunk"),
        (chunk("\r\n"), "bad chunk"),
        (chunk("2\r\nabc\r\n"), "bad chunk"),
        (chunk("2\nab"), "bad chunk"),
        (chunk("fffffffffffffffff\r\n"), "bad chunk"),
        (chunk(&format!("1;{}\r\n", "e".repeat(20_000))), "bad chunk"),
        (chunk("20\r\ndata: an endless line without en"), "line too long"),
        (chunk("24\r\ndata: 1234567890\ndata: 1234567890\nda"), "ok"),
        (chunk("35\r\ndata: 1234567890\ndata: 1234567890\ndata: 1234567890\nx"), "event too large"),
    ];
    for (bytes, expected) in cases {
        let whole = read(bytes.as_bytes(), &[], small);
        assert_eq!(whole.end.err().unwrap_or("ok"), *expected, "{bytes:?}");
        let every: Vec<usize> = (0..bytes.len()).collect();
        assert_eq!(read(bytes.as_bytes(), &every, small).end, whole.end, "byte by byte: {bytes:?}");
    }
}

#[test]
fn a_close_is_an_end_only_where_the_body_has_no_other() {
    let cases = [
        ("HTTP/1.1 200 OK\r\n\r\nabc", true),
        ("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabc", false),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n", false),
        ("HTTP/1.1 200", false),
        ("", false),
    ];
    for (bytes, fine) in cases {
        let mut response = Response::new(&Bounds::default());
        let mut input = bytes.as_bytes();
        while response.next(&mut input).unwrap().is_some() {}
        assert_eq!(response.close().is_ok(), fine, "{bytes:?}");
    }
}

#[test]
fn what_follows_the_answer_is_left() {
    let mut response = Response::new(&Bounds::default());
    let mut input: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\naHTTP/1.1 200 OK";
    while response.next(&mut input).unwrap() != Some(Piece::End) {}
    assert_eq!(input, b"HTTP/1.1 200 OK");
}

#[test]
fn template_matches_only_the_same_structure() {
    let learnt = br#"{"a":1,"content":"Hello","z":null}"#;
    let mut template = Template::default();
    assert_eq!(template.text(learnt), None, "nothing is known at first");
    let text = std::str::from_utf8(&learnt[18..23]).unwrap();
    template.learn(learnt, text);
    let cases: &[(&[u8], Option<&str>)] = &[
        (br#"{"a":1,"content":" world","z":null}"#, Some(" world")),
        (br#"{"a":2,"content":" world","z":null}"#, None),
        (br#"{"a":1,"content":"","z":null}"#, None),
        (br#"{"a":1,"content":"say \"x\"","z":null}"#, None),
        (br#"{"a":1,"content":"x","role":"y","z":null}"#, None),
        (b"{\"a\":1,\"content\":\"\xff\",\"z\":null}", None),
        (b"{\"a\":1,\"content\":\"\t\",\"z\":null}", None),
        (br#"{"a":1,"content":""#, None),
    ];
    for (event, expected) in cases {
        assert_eq!(template.text(event), *expected, "{}", String::from_utf8_lossy(event));
    }
    let accented = r#"{"a":1,"content":" wörld","z":null}"#;
    assert_eq!(template.text(accented.as_bytes()), Some(" wörld"));
    template.learn(learnt, "elsewhere");
    assert_eq!(template.text(learnt), Some("Hello"), "a copied text teaches nothing");
    template.forget();
    assert_eq!(template.text(learnt), None);
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z{}\", :]{0,30}".prop_map(|text| format!("data: {text}")),
        1 => Just("data".to_owned()),
        1 => Just(": ping".to_owned()),
        1 => Just("event: x".to_owned()),
        3 => Just(String::new()),
    ]
}

fn body() -> impl Strategy<Value = Vec<String>> {
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    let lines = prop::collection::vec((line(), end), 0..20);
    lines.prop_map(|lines| lines.into_iter().map(|(line, end)| line + end).collect())
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(lines in body(), chunk in 1_usize..40, cuts in prop::collection::vec(any::<usize>(), 0..12)) {
        let text = lines.concat();
        let pieces: Vec<&str> = text.as_bytes().chunks(chunk).map(|c| std::str::from_utf8(c).unwrap()).collect();
        let bytes = chunked(&pieces);
        let bounds = Bounds { head: 1024, line: 28, event: 40, body: 1024 };
        let whole = read(&bytes, &[], bounds);
        let every: Vec<usize> = (0..bytes.len()).collect();
        prop_assert_eq!(&read(&bytes, &cuts, bounds), &whole);
        prop_assert_eq!(&read(&bytes, &every, bounds), &whole);
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..200), valid in any::<bool>(), cuts in prop::collection::vec(any::<usize>(), 0..8)) {
        if valid {
            let mut whole = chunked(&["data: a\n\n"]);
            whole.truncate(whole.len() - 5);
            whole.append(&mut bytes);
            bytes = whole;
        }
        let bounds = Bounds { head: 128, line: 16, event: 16, body: 16 };
        let whole = read(&bytes, &[], bounds);
        prop_assert_eq!(read(&bytes, &cuts, bounds), whole);
    }
}
