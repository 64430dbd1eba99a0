//! Damaged and hostile input: an error or an answer, never a panic.

use crate::fixture::{self, file, folder};
use firstcheck_ingest::{
    Error,
    fingerprint::{from_models, from_server_info, from_version},
    gather, gather_recordings, read_recordings, read_runs,
};
use firstcheck_model::fingerprint::Fingerprint;
use proptest::prelude::*;

const FIXTURES: [&str; 8] = [
    fixture::VLLM,
    fixture::VLLM_SUMMARY,
    fixture::SGLANG,
    fixture::AIPERF,
    fixture::AIPERF_SUMMARY,
    fixture::GUIDELLM,
    fixture::INFERENCE_PERF_STAGE,
    fixture::INFERENCE_PERF_WHOLE,
];

#[test]
fn a_vllm_result_that_contradicts_itself_is_refused_with_the_reason() {
    let cases = [
        ("[0.1, 0.2, 0.0]", "[0.1, 0.2]", "ttfts has 2 entries, input_lens 3"),
        ("[0.1, 0.2, 0.0]", "[0.1, 1e300, 0.0]", "no duration"),
        ("[[0.05], [0.01, 0.03], []]", "[[-0.05], [0.01, 0.03], []]", "a gap of request 0"),
        ("[2, 4, 0]", "[2, 4.5, 0]", "no number of tokens"),
        ("[2, 4, 0]", "[2, -1, 0]", "no number of tokens"),
        ("[2, 4, 0]", "[2, 99999999999, 0]", "no number of tokens"),
        ("[100.0, 100.5, 101.0]", "[100.0, 1e12, 101.0]", "start_times of request 1"),
        ("[2, 4, 0]", "\"none\"", "invalid type"),
        ("[0.1, 0.2, 0.0]", "[-0.1, 0.2, 0.0]", "ttfts of request 0 is -0.1 s"),
        ("\"errors\"", "\"latencies\": [-1.0, 1.0, 0.0], \"errors\"", "latencies of request 0 is -1.0 s"),
    ];
    for (from, to, reason) in cases {
        assert!(fixture::VLLM.contains(from));
        let (_dir, path) = file("result", &fixture::VLLM.replace(from, to));
        let error = read_recordings(&path).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{to}: {error}");
        assert!(error.to_string().contains(reason), "{to}: {error}");
        assert!(error.to_string().contains("result"), "names the file: {error}");
    }
}

#[test]
fn a_vllm_result_that_says_two_things_is_read_with_a_warning() {
    let cases = [
        ("[0.1, 0.2, 0.0]", "[0.0, 0.2, 0.0]", "1 requests completed with output and without a first token"),
        (
            "\"errors\"",
            "\"latencies\": [0.15, 2.0, 0.0], \"errors\"",
            "1 requests have latencies and itls that end apart",
        ),
        ("[0.01, 0.03]", "[0.01, 9.0]", "1 requests ended after the period"),
        ("\"duration\": 4.0", "\"duration\": 0.1", "its duration ends before its last request was sent"),
        ("\"duration\": 4.0", "\"duration\": -4.0", "duration is no duration"),
        ("\"duration\": 4.0", "\"duration\": NaN", "duration is no duration"),
    ];
    let warnings = |content: &str| {
        let (_dir, path) = file("result", content);
        let said: Vec<String> = read_recordings(&path).unwrap()[0].info.remarks().cloned().collect();
        said.join("\n")
    };
    assert_eq!(warnings(fixture::VLLM), "", "what is whole warns of nothing");
    for (from, to, reason) in cases {
        let said = warnings(&fixture::VLLM.replace(from, to));
        assert!(said.contains(reason), "{to}: {said}");
    }
}

#[test]
fn an_aiperf_token_from_before_the_send_is_said() {
    let (_dir, path) = file("result", &fixture::AIPERF.replace("1000000700000000", "1000000400000000"));
    let said = read_recordings(&path).unwrap()[0].info.contradictions.join("\n");
    assert!(said.contains("1 requests ended before their last token"), "{said}");
}

#[test]
fn that_nothing_was_answered_does_not_make_answers_unstreamed() {
    let failed = fixture::VLLM
        .replace("[0.1, 0.2, 0.0]", "[0.0, 0.0, 0.0]")
        .replace("[2, 4, 0]", "[0, 0, 0]")
        .replace("[[0.05], [0.01, 0.03], []]", "[[], [], []]");
    let unstreamed = fixture::VLLM.replace("[[0.05], [0.01, 0.03], []]", "[[], [], []]");
    for (content, streamed) in [(fixture::VLLM, Some(true)), (&failed, None), (&unstreamed, Some(false))] {
        let (_dir, path) = file("result", content);
        assert_eq!(read_recordings(&path).unwrap()[0].info.workload.streaming, streamed);
    }
}

#[test]
fn a_byte_order_mark_is_passed_over_and_utf_32_is_named() {
    let (_dir, path) = file("result", &format!("\u{feff}{}", fixture::VLLM));
    assert_eq!(read_recordings(&path).unwrap().len(), 1);
    let utf32: Vec<u8> = "\u{feff}{\"a\": 1}".chars().flat_map(|sign| u32::from(sign).to_le_bytes()).collect();
    std::fs::write(&path, utf32).unwrap();
    let error = read_recordings(&path).unwrap_err().to_string();
    assert!(error.contains("UTF-32"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_socket_or_device_is_refused_and_does_not_stop_a_folder() {
    let dir = folder(&[("a.json", fixture::VLLM)]);
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("b.json")).unwrap();
    let gathered = gather(&[dir.path().to_path_buf()]);
    assert_eq!((gathered.runs.len(), gathered.unread.len()), (1, 1));
    assert!(gathered.unread[0].reason.contains("no regular file"), "{:?}", gathered.unread);
    let endless = read_recordings(std::path::Path::new("/dev/zero")).unwrap_err();
    assert!(matches!(endless, Error::NotAFile { .. }), "{endless}");
}

#[test]
fn recordings_of_a_folder_come_with_the_files_that_are_no_recording() {
    let dir = folder(&[("a.json", fixture::VLLM), ("b.json", &fixture::VLLM[..200])]);
    let (recordings, unread) = gather_recordings(dir.path()).unwrap();
    assert_eq!((recordings.len(), unread.len()), (1, 1));
    assert!(unread[0].path.ends_with("b.json"), "{unread:?}");
}

#[test]
fn deep_nesting_is_an_error() {
    let (_dir, path) = file("result", &format!("{{\"a\":{}", "[".repeat(100_000)));
    assert!(read_recordings(&path).is_err());
}

#[test]
fn a_folder_with_one_broken_result_gives_the_others() {
    let dir = folder(&[("a.json", fixture::VLLM), ("b.json", &fixture::VLLM.replace("[2, 4, 0]", "[2]"))]);
    let gathered = gather(&[dir.path().to_path_buf()]);
    assert_eq!((gathered.runs.len(), gathered.unread.len()), (1, 1));
    assert!(gathered.unread[0].path.ends_with("b.json"));
}

proptest! {
    #[test]
    fn a_fixture_with_bytes_changed_never_panics(
        which in 0..FIXTURES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = FIXTURES[which].as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let dir = folder(&[]);
        let path = dir.path().join("result");
        std::fs::write(&path, &bytes).unwrap();
        // A panic would be caught at the border and reported as a decoder that gave up.
        for outcome in [read_runs(&path).map(drop), read_runs(dir.path()).map(drop)] {
            if let Err(error) = outcome {
                prop_assert!(!error.to_string().contains("gave up"), "{}", error);
            }
        }
    }

    #[test]
    fn numbers_of_any_size_never_panic(which in 0..FIXTURES.len(), number in prop::sample::select(vec![
        "-1", "1e308", "-1e308", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "NaN", "Infinity", "null", "0", "1e-320",
    ]), at in any::<prop::sample::Index>()) {
        // One number of the fixture is replaced.
        let text = FIXTURES[which];
        let numbers: Vec<(usize, usize)> = numbers_of(text);
        let (start, end) = numbers[at.index(numbers.len())];
        let (_dir, path) = file("result", &format!("{}{number}{}", &text[..start], &text[end..]));
        if let Err(error) = read_runs(&path) {
            prop_assert!(!error.to_string().contains("gave up"), "{}", error);
        }
    }

    #[test]
    fn any_bytes_as_an_endpoints_answer_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut into = Fingerprint::default();
        let understood = from_version(&bytes, "x", &mut into) | from_models(&bytes, "x", &mut into) | from_server_info(&bytes, "x", &mut into);
        prop_assert!(understood || into == Fingerprint::default());
    }
}

/// Where the numbers of a JSON text stand, outside of strings.
fn numbers_of(text: &str) -> Vec<(usize, usize)> {
    let (mut found, mut inside, mut start) = (Vec::new(), false, None);
    for (at, c) in text.char_indices() {
        if c == '"' {
            inside = !inside;
        }
        let numeric = !inside && (c.is_ascii_digit() || matches!(c, '.' | '-' | 'e'));
        match (numeric, start) {
            (true, None) if c.is_ascii_digit() => start = Some(at),
            (false, Some(from)) => {
                found.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    found
}
