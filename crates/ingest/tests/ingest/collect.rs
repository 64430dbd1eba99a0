//! Everything that inputs hold: folders, archives, compression, streams; what cannot be read is listed.

use crate::fixture::{self, folder, page};
use firstcheck_ingest::{Collected, Input, Limits, collect};
use firstcheck_model::{
    prompts::{Content, Prompts},
    report::{ReadRow, Unread},
    run::{Arrivals, CacheState, Clock, ClockKind, Origin, RunId, RunInfo, WorkloadInfo},
    signal::{Part, Signal},
};
use proptest::prelude::*;
use std::{
    io::{self, Read, Write},
    path::Path,
};

fn path(path: &Path) -> Collected {
    collect(vec![Input::Path(path.into())], &Limits::default())
}

pub fn stream(bytes: &[u8], limits: &Limits) -> Collected {
    let mut source = bytes;
    collect(vec![Input::Stream("-", &mut source)], limits)
}

pub fn formats(collected: &Collected) -> Vec<(&str, &str)> {
    collected.read.iter().map(|row: &ReadRow| (row.path.as_str(), row.format.as_str())).collect()
}

pub fn reasons(collected: &Collected) -> Vec<&str> {
    collected.unread.iter().map(|unread: &Unread| unread.reason.as_str()).collect()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// `xz -9` of `{"version":"1.2"}`.
const XZ: &[u8] = include_bytes!("data/version.json.xz");

pub fn tar(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, content) in entries {
        let mut block = [0_u8; 512];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[100..107].copy_from_slice(b"0000644");
        block[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        block[156] = b'0';
        block[257..263].copy_from_slice(b"ustar\0");
        block[148..156].copy_from_slice(b"        ");
        let sum: u32 = block.iter().map(|b| u32::from(*b)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        out.extend_from_slice(&block);
        out.extend_from_slice(content);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.extend_from_slice(&[0; 1024]);
    out
}

pub fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, content) in entries {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn every_wrapping_gives_what_is_inside() {
    let inner = fixture::VLLM.as_bytes();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("plain", inner.to_vec(), "-"),
        ("gzip", gzip(inner), "-"),
        ("two members", [gzip(&inner[..100]), gzip(&inner[100..])].concat(), "-"),
        ("zstd", zstd(inner), "-"),
        ("two frames", [zstd(&inner[..100]), zstd(&inner[100..])].concat(), "-"),
        ("skippable frame", [b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec(), zstd(inner)].concat(), "-"),
        ("tar", tar(&[("x/bench.json", inner)]), "-!x/bench.json"),
        ("tar.gz", gzip(&tar(&[("bench.json", inner)])), "-!bench.json"),
        ("zip", zip(&[("bench.json", inner)]), "-!bench.json"),
        ("zip in zst", zstd(&zip(&[("bench.json", inner)])), "-!bench.json"),
        ("gz in tar in zst", zstd(&tar(&[("bench.json.gz", &gzip(inner))])), "-!bench.json.gz"),
        ("http", [b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n", inner].concat(), "-"),
        ("byte-order mark", [b"\xef\xbb\xbf", inner].concat(), "-"),
    ];
    for (what, bytes, name) in cases {
        let collected = stream(&bytes, &Limits::default());
        assert_eq!(formats(&collected), [(name, "vllm-bench")], "{what}: {:?}", collected.unread);
        assert_eq!(collected.unread, [], "{what}");
        assert_eq!(collected.evidence.runs[0].requests.len(), 3, "{what}");
    }
    let collected = stream(XZ, &Limits::default());
    assert_eq!(formats(&collected), [("-", "version")]);
    assert_eq!(collected.evidence.stated.get("engine_version"), Some("1.2"));
}

#[test]
fn a_zip_in_a_folder_is_read_in_its_place() {
    let dir = folder(&[]);
    std::fs::write(
        dir.path().join("a.bin"),
        zip(&[("m/before.txt", page(1, 0, 0).as_bytes()), ("n.txt", b"a poem\n")]),
    )
    .unwrap();
    let collected = path(dir.path());
    assert!(collected.read[0].path.ends_with("a.bin!m/before.txt"), "{:?}", collected.read);
    assert!(collected.unread[0].path.ends_with("a.bin!n.txt"));
    assert_eq!(reasons(&collected), ["text of no known format"]);
}

#[test]
fn what_stands_before_the_damage_stays_and_the_rest_is_said() {
    let lines: String = (0..3000)
        .map(|n| {
            fixture::AIPERF.lines().next().unwrap().replace("\"session_num\":1", &format!("\"session_num\":{n}")) + "\n"
        })
        .collect();
    for (what, mut bytes) in
        [("gzip", gzip(lines.as_bytes())), ("zstd", zstd(lines.as_bytes())), ("tar", tar(&[("r", lines.as_bytes())]))]
    {
        bytes.truncate(bytes.len() * 2 / 3);
        let collected = stream(&bytes, &Limits::default());
        let rows = collected.read.first().map_or(0, |row| row.rows);
        assert!(rows > 500 && rows < 3000, "{what}: {rows} {:?}", collected.unread);
        assert!(
            reasons(&collected).iter().any(|reason| reason.contains("breaks off")),
            "{what}: {:?}",
            collected.unread
        );
        assert!(!collected.evidence.runs.is_empty(), "{what}");
    }
    let whole = zip(&[("a.json", fixture::VLLM.as_bytes())]);
    let collected = stream(&whole[..whole.len() - 30], &Limits::default());
    assert!(reasons(&collected)[0].contains("damaged zip archive"), "{:?}", collected.unread);
}

/// A stream of one byte, as long as is asked for.
struct Endless(u8, u64);

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(usize::try_from(self.1).unwrap());
        into[..count].fill(self.0);
        self.1 -= count as u64;
        Ok(count)
    }
}

#[test]
fn what_expands_without_end_is_refused() {
    let mut encoder = flate2::read::GzEncoder::new(
        fixture::AIPERF.as_bytes().chain(Endless(b'\n', 4 << 20)),
        flate2::Compression::best(),
    );
    let mut bomb = Vec::new();
    encoder.read_to_end(&mut bomb).unwrap();
    let limits = Limits { expanded_free_bytes: 1 << 18, ..Limits::default() };
    for bytes in [bomb.clone(), tar(&[("inner.gz", &bomb)]), zip(&[("inner.gz", &bomb)])] {
        let collected = stream(&bytes, &limits);
        let reasons = reasons(&collected);
        assert!(reasons.iter().any(|reason| reason.contains("expands more than 200 times")), "{reasons:?}");
    }
    let limits = Limits { expanded_bytes: 1 << 20, ..Limits::default() };
    assert!(reasons(&stream(&bomb, &limits)).iter().any(|reason| reason.contains("expands to more than")));
    let mut deep = b"{\"version\":\"1\"}".to_vec();
    for _ in 0..7 {
        deep = gzip(&deep);
    }
    assert_eq!(reasons(&stream(&deep, &Limits::default())), ["gzip inside 5 other layers: unpack it first"]);
}

#[test]
fn a_long_name_does_not_take_memory() {
    let mut bytes = tar(&[("././@LongLink", &[b'a'; 70_000])]);
    bytes[156] = b'L';
    // The checksum holds the kind.
    let sum: u32 =
        bytes[..512].iter().enumerate().map(|(at, b)| if (148..156).contains(&at) { 32 } else { u32::from(*b) }).sum();
    bytes[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    assert!(reasons(&stream(&bytes, &Limits::default()))[0].contains("a name of 70000 bytes"));
}

#[test]
fn a_line_beyond_the_limit_is_skipped_and_said() {
    let line = fixture::AIPERF.lines().next().unwrap();
    let head = format!("{line}\n");
    let tail = format!("\n{line}\n");
    let mut source = head.as_bytes().chain(Endless(b'x', 100 << 20)).chain(tail.as_bytes());
    let collected =
        collect(vec![Input::Stream("-", &mut source)], &Limits { line_bytes: 1 << 20, ..Limits::default() });
    assert_eq!(collected.read[0].rows, 2);
    assert_eq!(collected.unread.len(), 1);
    assert_eq!(collected.unread[0].line, Some(2));
    assert!(collected.unread[0].reason.contains("104857600 bytes"), "{}", collected.unread[0].reason);
}

#[cfg(unix)]
#[test]
fn links_back_closed_folders_and_devices_are_listed() {
    let dir = folder(&[("a/bench.json", fixture::VLLM), ("b/notes.md", "# notes\n"), ("c/empty", "")]);
    std::os::unix::fs::symlink(dir.path(), dir.path().join("a/back")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("a/bench.json"), dir.path().join("b/again.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", dir.path().join("b/zero")).unwrap();
    std::os::unix::fs::symlink("missing", dir.path().join("b/nowhere")).unwrap();
    std::fs::create_dir(dir.path().join(".hidden")).unwrap();
    let collected = path(dir.path());
    assert_eq!(collected.read.len(), 1);
    let all = reasons(&collected).join("\n");
    for said in [
        "a link back to a folder that was looked into",
        "the same file as one that was read",
        "is no regular file",
        "No such file",
        "prose (Markdown)",
        "empty",
        "1 hidden folders",
    ] {
        assert!(all.contains(said), "{said}:\n{all}");
    }
}

#[test]
fn a_damaged_bundle_does_not_take_the_folder_with_it() {
    let dir = folder(&[("bad/run.json", "{\"schema\": 1"), ("good.json", fixture::VLLM)]);
    let collected = path(dir.path());
    assert_eq!(collected.evidence.runs.len(), 1);
    assert!(collected.unread.iter().any(|unread| unread.path.contains("bad")), "{:?}", collected.unread);
    let gathered = firstcheck_ingest::gather(&[dir.path().to_path_buf()]);
    assert_eq!((gathered.runs.len(), gathered.unread.len()), (1, 1));
    assert!(firstcheck_ingest::read_runs(&dir.path().join("bad")).is_err(), "by itself it is an error");
}

#[test]
fn a_bundle_that_is_given_twice_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let workload = WorkloadInfo {
        description: "one request".into(),
        arrivals: Arrivals::Unknown,
        trace_hash: None,
        salt: None,
        streaming: None,
        warm_up: None,
        cache: CacheState::Unknown,
    };
    let clock = Clock { started_unix_ns: None, kind: ClockKind::Virtual };
    let info = RunInfo::new(RunId("run".into()), "test", Origin::Measured, clock, workload);
    drop(firstcheck_bundle::Writer::create(&run, &info).unwrap());
    let twice = [run.clone(), run, dir.path().into()].map(Input::Path);
    let collected = collect(twice.into(), &Limits::default());
    assert_eq!(collected.evidence.runs.len(), 1, "{:?}", collected.unread);
    let repeated = "the same run as one that was read: counted once";
    assert_eq!(reasons(&collected).iter().filter(|reason| **reason == repeated).count(), 2, "{:?}", collected.unread);
}

#[test]
fn pages_and_answers_without_a_run_are_what_was_observed() {
    let dir = folder(&[
        ("later.txt", &page(26, 4, 5)),
        ("first.txt", &page(10, 1, 2)),
        ("version.json", r#"{"version":"0.77"}"#),
    ]);
    let collected = path(dir.path());
    assert_eq!(collected.evidence.runs.len(), 1);
    let run = &collected.evidence.runs[0];
    assert!(run.label.ends_with("first.txt → later.txt"), "{}", run.label);
    let preempted = run.series(firstcheck_model::signal::Signal::Preemptions, firstcheck_model::signal::Part::Value);
    assert_eq!(preempted.map(|series| series.delta(None).unwrap().value).sum::<f64>(), 3.0);
    assert_eq!(run.info.fingerprint.get("engine_version"), Some("0.77"));
    assert!(run.info.warnings[0].contains("rates are not"), "{:?}", run.info.warnings);
}

#[test]
fn a_lone_page_beside_a_run_does_not_take_its_growth() {
    let dir = folder(&[
        ("run/bench.json", fixture::VLLM),
        ("run/before.txt", &page(1, 0, 1)),
        ("run/after.txt", &page(30, 4, 5)),
        ("other/page.txt", &page(9, 9, 9)),
    ]);
    let collected = path(dir.path());
    let preemptions = |run: &firstcheck_model::evidence::RunEvidence| {
        run.series(firstcheck_model::signal::Signal::Preemptions, firstcheck_model::signal::Part::Value).count()
    };
    assert_eq!(collected.evidence.runs.iter().map(preemptions).collect::<Vec<_>>(), [1, 0]);
    let alone = path(&dir.path().join("other"));
    assert_eq!(preemptions(&alone.evidence.runs[0]), 1, "by itself it says what more is needed");
}

#[test]
fn unknown_content_is_told_apart() {
    for (bytes, reason) in [
        (&b"a poem\nof two lines\n"[..], "text of no known format"),
        (b"\x00\x01\x02binary", "binary data of no known format"),
        (b"{\"a\": 1, \"b\": 2}", "JSON of no known format (keys: a, b)"),
        (b"{\"a\": 1, ", "malformed JSON"),
        (b"\xff\xfe\0\0{\0\0\0", "UTF-32"),
        (b"", "empty"),
        (b"\x1f\x8b\x08\x00garbage!!", "breaks off"),
    ] {
        let collected = stream(bytes, &Limits::default());
        assert!(reasons(&collected)[0].contains(reason), "{reason}: {:?}", collected.unread);
        assert!(collected.read.is_empty());
    }
}

/// Large files take longer than small ones: each comes at its place all the same, and so does what could not be read.
#[test]
fn files_of_a_folder_come_in_their_order() {
    let names: Vec<String> = (0..40).map(|at| format!("{at:02}")).collect();
    let content = |at: usize| match at % 4 {
        0 => page(1, 1, 1).repeat(1 + (40 - at) * 20),
        1 => "{\"version\":\"1.2\"}".to_owned(),
        2 => format!("nothing that is known {at}"),
        _ => "INFO 01-02 03:04:05 [x.py:1] unheard of\n".repeat(1 + (40 - at) * 50),
    };
    let contents: Vec<String> = (0..40).map(content).collect();
    let dir = folder(&names.iter().zip(&contents).map(|(n, c)| (n.as_str(), c.as_str())).collect::<Vec<_>>());
    let all = path(dir.path());
    let order = |paths: Vec<&str>| paths.is_sorted() && !paths.is_empty();
    assert!(order(all.read.iter().map(|row| row.path.as_str()).collect()), "{:?}", all.read);
    assert!(order(all.unread.iter().map(|row| row.path.as_str()).collect()), "{:?}", all.unread);
    assert_eq!(all.unread.iter().filter(|row| row.reason.contains("no known format")).count(), 10);
    let again = path(dir.path());
    assert_eq!((&all.read, &all.unread, &all.not_understood), (&again.read, &again.unread, &again.not_understood));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn archives_with_bytes_changed_never_panic(
        which in 0..4_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let inner = fixture::SGLANG.as_bytes();
        let mut bytes = match which {
            0 => gzip(inner),
            1 => zstd(inner),
            2 => tar(&[("a", inner), ("b", inner)]),
            _ => zip(&[("a", inner), ("b", inner)]),
        };
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let collected = stream(&bytes, &Limits { expanded_free_bytes: 1 << 24, ..Limits::default() });
        prop_assert!(collected.unread.iter().all(|unread| !unread.reason.contains("gave up")), "{:?}", collected.unread);
        prop_assert!(!collected.read.is_empty() || !collected.unread.is_empty());
    }
}

/// What hostile and broken input does, all at once: it is read as far as it goes, and everything else is counted.
#[test]
fn a_page_of_everything_that_goes_wrong_is_read_and_counted() {
    let head = "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3\n\
                # TYPE vllm:num_preemptions_total counter\nvllm:num_preemptions_total 7\n\
                # TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total NaN\n\
                # TYPE vllm:prompt_tokens_total counter\nvllm:prompt_tokens_total -5\n\
                # TYPE acme:mystery gauge\nacme:mystery{a=\"b\"} 1\n\
                vllm:num_requests_waiting{a=\"";
    let tail = "\n# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc NaN\nvllm:num_requests_wai";
    let second = format!("# 1700000015\n{}", page(4, 1, 9));
    let history = format!("# 1700000000\n{head}");
    let mut source = history.as_bytes().chain(Endless(b'x', 100 << 20)).chain(tail.as_bytes());
    let cut = collect(vec![Input::Stream("cut", &mut source)], &Limits::default());
    let mut source = history.as_bytes().chain(Endless(b'x', 100 << 20)).chain(&b"\n"[..]).chain(second.as_bytes());
    let whole = collect(vec![Input::Stream("whole", &mut source)], &Limits::default());

    let value = |collected: &Collected, signal| {
        let series = collected.evidence.runs[0].series(signal, Part::Value).next();
        series.and_then(|series| series.value.first().copied())
    };
    for (what, collected) in [("cut", &cut), ("whole", &whole)] {
        assert_eq!(value(collected, Signal::Running), Some(3.0), "{what}");
        assert_eq!(value(collected, Signal::Preemptions), Some(7.0), "{what}");
        assert_eq!(value(collected, Signal::PromptTokens).filter(|value| *value < 0.0), None, "{what}");
        assert!(value(collected, Signal::GenerationTokens).is_none_or(f64::is_finite), "{what}: a NaN is no count");
        let reasons = reasons(collected).join("\n");
        for said in ["counter vllm:prompt_tokens_total is below zero: -5", "more than the limit of 67108864: skipped"] {
            assert!(reasons.contains(said), "{what}: {said} in\n{reasons}");
        }
        let unknown: Vec<_> = collected.not_understood.iter().map(|one| (one.kind.as_str(), one.count)).collect();
        assert!(unknown.contains(&("acme:mystery", 1)), "{what}: {unknown:?}");
    }
    assert!(reasons(&cut).iter().any(|reason| reason.contains("no value")), "{:?}", cut.unread);
    assert_eq!(cut.unread.len(), 3, "{:?}", cut.unread);
}

#[test]
fn prompts_are_texts_or_token_ids_and_a_line_without_one_is_listed() {
    let lines = b"{\"prompt\":\"a b\"}\n\n{\"prompt\":[1,2]}\n{\"token_ids\":[1,-2]}\n{\"prompt\":\"a c\"}\n";
    let collected = stream(lines, &Limits::default());
    let kept: Vec<&Prompts> = collected.evidence.prompts.iter().map(|sourced| &sourced.item).collect();
    let expected = [Content::Tokens(vec![vec![1, 2]]), Content::Text(vec!["a b".into(), "a c".into()])];
    assert_eq!(kept, expected.map(Prompts::from).iter().collect::<Vec<_>>());
    assert_eq!(collected.unread.iter().map(|unread| unread.line).collect::<Vec<_>>(), [Some(4)]);
}
