//! Damaged and hostile input: an error or an answer, never a panic.

use crate::fixture::{self, file, folder};
use firstcheck_ingest::{
    Error,
    fingerprint::{from_models, from_server_info, from_version},
    gather, read_recordings, read_runs,
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
