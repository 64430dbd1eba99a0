//! What inputs are wrapped in: runs inside archives, archives that are cut, text of Windows.

use crate::{
    collect::{formats, gzip, reasons, stream, tar, zip, zstd},
    fixture::{self, file, folder, page},
};
use firstcheck_bundle::Writer;
use firstcheck_ingest::{Limits, read_recordings, read_runs};
use firstcheck_model::trace_span::{Attributes, TraceSpan};
use std::path::Path;

const LOG: &str = "INFO 01-02 03:04:05 [api_server.py:1] vLLM API server version 0.9.2\n\
                   INFO 01-02 03:04:06 [kv_cache_utils.py:1] GPU KV cache size: 12,345 tokens\n";

/// The files of a finished run with a log attached, each with its name below `prefix`, in the order of their names.
fn files(prefix: &str) -> Vec<(String, Vec<u8>)> {
    let source = folder(&[("result.json", fixture::VLLM), ("a.txt", &page(1, 0, 0)), ("b.txt", &page(30, 4, 1))]);
    let recording = read_recordings(source.path()).unwrap().remove(0);
    let dir = folder(&[]);
    let run = dir.path().join("run");
    let mut writer = Writer::create(&run, &recording.info).unwrap();
    writer.attach("server.log", LOG.as_bytes()).unwrap();
    let requests: Vec<_> = (0..).zip(recording.requests.0.iter().cloned()).collect();
    writer
        .append(firstcheck_bundle::Rows {
            requests: &requests,
            events: &recording.events,
            signals: &recording.signals,
            spans: &recording.spans,
            traces: &[span()],
        })
        .unwrap();
    writer.finish(recording.info.clone()).unwrap();
    let mut files = Vec::new();
    let mut folders = vec![run.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                let name = entry.strip_prefix(&run).unwrap().to_str().unwrap();
                files.push((format!("{prefix}{name}"), std::fs::read(&entry).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// A span that a service exported while the run went on.
fn span() -> TraceSpan {
    TraceSpan {
        trace_id: "0af7651916cd43dd8448eb211c80319c".into(),
        span_id: "b7ad6b7169203331".into(),
        parent_id: None,
        name: "llm_request".into(),
        start_unix_ns: 1_700_000_000_000_000_000,
        end_unix_ns: 1_700_000_001_000_000_000,
        service: None,
        instance: None,
        failed: false,
        attributes: Attributes::default(),
    }
}

fn entries(files: &[(String, Vec<u8>)]) -> Vec<(&str, &[u8])> {
    files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect()
}

#[test]
fn a_packed_run_opens_as_a_run() {
    for (prefix, shown, attached) in [
        ("", "-", "-!attached/server.log"),
        ("./", "-", "-!./attached/server.log"),
        ("a/run-1/", "-!a/run-1", "-!a/run-1/attached/server.log"),
    ] {
        let files = files(prefix);
        let packed = tar(&entries(&files));
        for (what, bytes) in
            [("tar.gz", gzip(&packed)), ("tar.zst", zstd(&packed)), ("zip", zip(&entries(&files))), ("tar", packed)]
        {
            let collected = stream(&bytes, &Limits::default());
            assert_eq!(formats(&collected), [(shown, "bundle"), (attached, "engine-log")], "{what} {prefix}");
            assert_eq!(collected.unread, [], "{what} {prefix}");
            let run = &collected.evidence.runs[0];
            assert_eq!((run.label.as_str(), run.requests.len(), collected.read[0].rows), (shown, 3, 3), "{what}");
            assert!(run.signals.iter().any(|series| series.signal.is_some()));
            assert_eq!(collected.evidence.logs[0].kv.tokens, Some(12_345));
            assert_eq!(collected.evidence.traces, [span()], "{what} {prefix}");
        }
    }
}

#[test]
fn runs_of_an_archive_are_read_where_runs_alone_are_wanted() {
    let both: Vec<_> = files("one/").into_iter().chain(files("two/")).collect();
    let dir = folder(&[]);
    let path = dir.path().join("runs.tar.gz");
    std::fs::write(&path, gzip(&tar(&entries(&both)))).unwrap();
    let runs = read_runs(&path).unwrap();
    let labels: Vec<_> = runs.iter().map(|run| run.label.rsplit('!').next().unwrap()).collect();
    assert_eq!(labels, ["one", "two"]);
    assert_eq!(read_recordings(&path).unwrap()[1].requests.len(), 3);
}

#[test]
fn a_packed_run_that_is_damaged_is_named_and_the_others_stay() {
    let mut bad = files("bad/");
    bad.iter_mut().find(|(name, _)| name == "bad/requests.parquet").unwrap().1[20] ^= 1;
    let both: Vec<_> = bad.into_iter().chain(files("good/")).collect();
    let collected = stream(&tar(&entries(&both)), &Limits::default());
    assert_eq!(collected.evidence.runs.len(), 1);
    let unread: Vec<_> = collected.unread.iter().map(|unread| unread.path.as_str()).collect();
    assert_eq!(unread, ["-!bad"], "{:?}", collected.unread);
}

#[test]
fn files_named_as_a_runs_without_its_description_are_entries_like_others() {
    let lone: Vec<_> = files("x/").into_iter().filter(|(name, _)| !name.ends_with("run.json")).collect();
    let collected = stream(&tar(&entries(&lone)), &Limits::default());
    assert_eq!(formats(&collected), [("-!x/attached/server.log", "engine-log")]);
    assert!(reasons(&collected).iter().all(|reason| *reason == "binary data of no known format"));
    assert_eq!(collected.unread.len() + collected.read.len(), lone.len());
}

#[test]
fn names_that_lead_elsewhere_are_labels() {
    let log = LOG.as_bytes();
    let names = ["/etc/attached/../x.log", "../../attached/a.log", "attached/.hidden.log", "/attached/b.log"];
    let collected = stream(&tar(&names.map(|name| (name, log))), &Limits::default());
    assert_eq!(collected.evidence.logs.len(), names.len(), "{:?}", collected.unread);
    assert!(!Path::new("../../attached/a.log").exists());
}

#[test]
fn packed_runs_beyond_the_limit_are_refused() {
    let limits = Limits { packed_bytes: 1_000, ..Limits::default() };
    for bytes in [tar(&entries(&files("run/"))), zip(&entries(&files("run/")))] {
        let collected = stream(&bytes, &limits);
        assert!(collected.evidence.runs.is_empty());
        assert!(reasons(&collected).iter().any(|reason| reason.contains("unpack it and give the folder")));
    }
}

#[test]
fn a_cut_archive_gives_what_is_whole() {
    let noise: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let packed = tar(&[("a/server.log", LOG.as_bytes()), ("a/page.txt", page(1, 0, 0).as_bytes()), ("b.bin", &noise)]);
    for (what, bytes) in [("zst", zstd(&packed)), ("gz", gzip(&packed)), ("plain", packed.clone())] {
        let cut = &bytes[..bytes.len() * 3 / 4];
        let collected = stream(cut, &Limits::default());
        assert_eq!(
            formats(&collected),
            [("-!a/server.log", "engine-log"), ("-!a/page.txt", "metrics")],
            "{what}: {:?}",
            collected.unread
        );
        assert!(reasons(&collected).iter().any(|reason| reason.contains("breaks off")), "{what}");
    }
}

/// Text as `>` of PowerShell writes it.
fn utf16(text: &str, big: bool) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

#[test]
fn text_of_windows_is_read() {
    let long: String =
        (0..9_000).map(|n| format!("INFO 01-02 03:04:07 [a.py:1] 𝄞 line {n} of a long log\r\n")).collect();
    let text = LOG.replace('\n', "\r\n") + &long;
    for big in [false, true] {
        let collected = stream(&utf16(&text, big), &Limits::default());
        assert_eq!(formats(&collected), [("-", "engine-log")]);
        let log = &collected.evidence.logs[0];
        assert_eq!((log.version.as_deref(), log.kv.tokens, log.lines), (Some("0.9.2"), Some(12_345), 9_002));
        assert_eq!(collected.unread, []);
        assert!(collected.not_understood.iter().all(|one| !one.example.contains('\u{fffd}')));
        let mut cut = utf16(LOG, big);
        cut.pop();
        let collected = stream(&cut, &Limits::default());
        assert!(reasons(&collected)[0].contains("breaks off"), "{:?}", collected.unread);
    }
    let (_dir, path) = file("result", "");
    std::fs::write(&path, utf16(fixture::VLLM, false)).unwrap();
    assert_eq!(read_runs(&path).unwrap()[0].requests.len(), 3);
}

#[test]
fn an_archive_without_a_file_is_listed() {
    for bytes in [tar(&[("folder/", b"")]), zip(&[]), gzip(&tar(&[("folder/", b"")]))] {
        assert_eq!(reasons(&stream(&bytes, &Limits::default())), ["an archive that lists no file"]);
    }
}

/// An entry of another kind than a file, with what it points to.
fn special(name: &str, kind: u8, target: &str) -> Vec<u8> {
    let mut block = tar(&[(name, b"")])[..512].to_vec();
    block[156] = kind;
    block[157..157 + target.len()].copy_from_slice(target.as_bytes());
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|b| u32::from(*b)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

#[test]
fn links_and_pipes_of_an_archive_are_listed_with_their_reason() {
    let log = tar(&[("logs/server.log", LOG.as_bytes())]);
    let log = &log[..log.len() - 1024];
    let packed = [
        log.to_vec(),
        special("again.log", b'1', "logs/server.log"),
        special("lost.log", b'1', "elsewhere.log"),
        special("link.log", b'2', "/var/log/pods/x.log"),
        special("pipe", b'6', ""),
        special("folder/", b'5', ""),
        vec![0; 1024],
    ]
    .concat();
    let collected = stream(&packed, &Limits::default());
    assert_eq!(formats(&collected), [("-!logs/server.log", "engine-log")], "once, however often it is linked");
    let unread: Vec<(&str, &str)> =
        collected.unread.iter().map(|unread| (unread.path.as_str(), &unread.reason[..12])).collect();
    let expected = [("-!lost.log", "a hard link "), ("-!link.log", "a symbolic l"), ("-!pipe", "a named pipe")];
    assert_eq!(unread, expected);
}
