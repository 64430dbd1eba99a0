//! Cut and changed files: never a panic, never read as if they were whole.

use crate::run;
use firstcheck_bundle::{Bundle, Error};
use firstcheck_model::{
    run::{RunInfo, RunState},
    signal::Series,
};
use proptest::{prelude::*, sample::Index};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

const APPENDS: u32 = 12;

#[derive(Debug, Clone)]
enum Damage {
    Cut(Index),
    Flip(Vec<(Index, u8)>),
    Grow(Vec<u8>),
    Remove,
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        4 => any::<Index>().prop_map(Damage::Cut),
        4 => prop::collection::vec((any::<Index>(), 1..=u8::MAX), 1..4).prop_map(Damage::Flip),
        1 => prop::collection::vec(any::<u8>(), 1..40).prop_map(Damage::Grow),
        1 => Just(Damage::Remove),
    ]
}

/// Damages the file; whether anything is different now.
fn apply(damage: &Damage, path: &Path) -> bool {
    let before = fs::read(path).unwrap();
    let mut after = before.clone();
    match damage {
        Damage::Cut(_) | Damage::Flip(_) if before.is_empty() => {}
        Damage::Cut(at) => after.truncate(at.index(before.len())),
        Damage::Flip(flips) => flips.iter().for_each(|(at, bits)| after[at.index(before.len())] ^= bits),
        Damage::Grow(bytes) => after.extend(bytes),
        Damage::Remove => {
            fs::remove_file(path).unwrap();
            return true;
        }
    }
    fs::write(path, &after).unwrap();
    before != after
}

fn finished() -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = run::unfinished(&dir, APPENDS);
    writer.attach("server.log", &b"INFO engine started"[..]).unwrap();
    writer.finish(run::info()).unwrap();
    (parent, dir)
}

fn unfinished() -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    drop(run::unfinished(&dir, APPENDS));
    (parent, dir)
}

const FINISHED: [&str; 6] =
    ["run.json", "requests.parquet", "events.parquet", "signals.parquet", "spans.parquet", "attached/server.log"];
const JOURNAL: [&str; 4] = ["journal/requests", "journal/events", "journal/signals", "journal/spans"];

fn config() -> ProptestConfig {
    ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() }
}

/// A pipe would keep a reader waiting and `/dev/zero` would never end.
#[cfg(unix)]
#[test]
fn a_file_that_became_a_device_or_a_socket_is_refused() {
    for (whole, names) in [(finished as fn() -> _, &FINISHED[..]), (unfinished, &JOURNAL[..])] {
        for name in names {
            let (_parent, dir) = whole();
            let path = dir.join(name);
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
            let error = Bundle::open(&dir).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains("no regular file"), "{name}: {error}");
            fs::remove_file(&path).unwrap();
            let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
            assert!(Bundle::open(&dir).is_err(), "{name}");
        }
    }
}

#[test]
fn a_finished_run_that_was_damaged_does_not_open() {
    let (_parent, dir) = finished();
    proptest!(config(), |(file in 0..FINISHED.len(), damage in damage())| {
        let path = dir.join(FINISHED[file]);
        let whole = fs::read(&path).unwrap();
        let changed = apply(&damage, &path);
        let outcome = Bundle::open(&dir);
        fs::write(&path, whole).unwrap();
        let refused = matches!(outcome, Err(Error::Damaged { .. } | Error::NotABundle { .. }));
        prop_assert_eq!(refused, changed, "{} after {:?}: {:?}", FINISHED[file], damage, outcome.err());
    });
    assert_eq!(Bundle::open(&dir).unwrap().requests().unwrap().len(), APPENDS as usize);
}

#[test]
fn a_damaged_journal_gives_what_stands_before_the_damage() {
    let (_parent, dir) = unfinished();
    proptest!(config(), |(file in 0..JOURNAL.len(), damage in damage())| {
        let path = dir.join(JOURNAL[file]);
        let whole = fs::read(&path).unwrap();
        let changed = apply(&damage, &path);
        let outcome = Bundle::open(&dir).and_then(|bundle| Ok((bundle.recording()?, bundle.salvage().cloned())));
        fs::write(&path, whole).unwrap();
        let (got, salvage) = outcome.unwrap();
        let salvage = salvage.unwrap();
        prop_assert_eq!(&got.requests, &run::requests_after(salvage.appends));
        prop_assert_eq!(&got.events, &run::events_after(salvage.appends));
        prop_assert_eq!(&got.spans, &(0..got.spans.len() as u32).map(run::span).collect::<Vec<_>>());
        let scrapes = got.signals.first().map_or(0, |series| series.at.len());
        prop_assert_eq!(&got.signals, &scraped(scrapes as u32));

        let lost = salvage.appends < APPENDS || scrapes < APPENDS as usize || got.spans.len() + 1 < APPENDS as usize;
        prop_assert!(changed || (!lost && salvage.cuts.is_empty()));
        let unseen = ends_on_a_frame(&damage, lost) || (matches!(damage, Damage::Remove) && file >= 2);
        prop_assert!(!changed || !salvage.cuts.is_empty() || unseen);
        for cut in &salvage.cuts {
            prop_assert!(got.info.warnings.contains(&cut.to_string()), "{} is not among the warnings", cut);
        }
    });
}

/// The series after that many scrapes.
fn scraped(scrapes: u32) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for one in (0..scrapes).flat_map(run::scrape) {
        match all.iter_mut().find(|series| series.name == one.name) {
            Some(series) => {
                series.at.extend(one.at);
                series.value.extend(one.value);
            }
            None => all.push(one),
        }
    }
    all
}

/// A cut between two frames of samples or spans leaves nothing to see: the run may have been killed just there.
fn ends_on_a_frame(damage: &Damage, lost: bool) -> bool {
    matches!(damage, Damage::Cut(_)) && lost
}

#[test]
fn a_cut_names_file_frame_and_bytes() {
    let (_parent, dir) = unfinished();
    let path = dir.join("journal/events");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let bundle = Bundle::open(&dir).unwrap();
    let salvage = bundle.salvage().unwrap();
    assert_eq!(salvage.appends, APPENDS - 1);
    let cuts: Vec<_> = salvage.cuts.iter().map(|cut| (cut.file.as_str(), cut.frame, cut.why.as_str())).collect();
    let expected = [
        ("journal/events", APPENDS, "it is cut"),
        ("journal/requests", APPENDS, "the events of the same append are not whole"),
    ];
    assert_eq!(cuts, expected);
    assert!(salvage.cuts.iter().all(|cut| cut.ignored_bytes > 0));
    let text = salvage.cuts[0].to_string();
    assert!(text.starts_with("journal/events: frame 12 not used because it is cut; "), "{text}");
}

/// The hash of run.json is recomputed here as docs/bundle.md tells it, so these files are whole but say something odd.
fn rewrite(dir: &Path, change: impl Fn(String) -> String) {
    let path = dir.join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    let content = change(text[..text.rfind(",\n  \"hash\"").unwrap()].to_owned());
    let hash = xxhash_rust::xxh3::xxh3_64(content.as_bytes());
    fs::write(&path, format!("{content},\n  \"hash\": \"xxh3:{hash:016x}\"\n}}\n")).unwrap();
}

#[test]
fn a_run_json_that_is_whole_but_impossible_is_refused() {
    let cases: [(&str, &str, &str); 5] = [
        ("firstcheck.run/1", "firstcheck.run/9", "has schema `firstcheck.run/9`"),
        ("attached/server.log", "../../etc/passwd", "no file of a bundle"),
        ("attached/server.log", "attached/../run.json", "no file of a bundle"),
        ("\"rows\": \"parquet\"", "\"rows\": \"journal\"", "says complete although"),
        ("\"rows\": \"parquet\"", "\"rows\": \"csv\"", "unknown variant"),
    ];
    for (from, to, message) in cases {
        let (_parent, dir) = finished();
        rewrite(&dir, |text| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        let error = Bundle::open(&dir).unwrap_err().to_string();
        assert!(error.contains(message), "{from} -> {to}: {error}");
    }
}

/// A later version may hash otherwise; what is no later version of ours is damage.
#[test]
fn a_later_schema_is_named_whatever_its_hash() {
    for (to, message) in [
        ("firstcheck.run/2", "has schema `firstcheck.run/2`"),
        ("firstcheck.run/x", "the hash at its end does not match"),
        ("otherwise.run/2", "the hash at its end does not match"),
    ] {
        let (_parent, dir) = finished();
        let path = dir.join("run.json");
        fs::write(&path, fs::read_to_string(&path).unwrap().replace("firstcheck.run/1", to)).unwrap();
        let error = Bundle::open(&dir).unwrap_err().to_string();
        assert!(error.contains(message), "{to}: {error}");
    }
}

/// Valid hashes around bytes that are no Parquet: what a hostile bundle looks like.
#[test]
fn a_file_that_is_not_parquet_is_an_error_and_no_panic() {
    let (_parent, dir) = finished();
    let garbage = [b"PAR1".as_slice(), &[0xff; 64], b"\xff\xff\xff\x7fPAR1"].concat();
    fs::write(dir.join("events.parquet"), &garbage).unwrap();
    let hash = xxhash_rust::xxh3::xxh3_64(&garbage);
    rewrite(&dir, |text| {
        let mut run: serde_json::Value = serde_json::from_str(&format!("{text}\n}}")).unwrap();
        for file in run["files"].as_array_mut().unwrap() {
            if file["name"] == "events.parquet" {
                file["bytes"] = garbage.len().into();
                file["xxh3"] = format!("{hash:016x}").into();
            }
        }
        let text = serde_json::to_string_pretty(&run).unwrap();
        text.strip_suffix("\n}").unwrap().to_owned()
    });
    let bundle = Bundle::open(&dir).unwrap();
    assert_eq!(bundle.requests().unwrap().len(), APPENDS as usize);
    assert!(matches!(bundle.evidence("x"), Err(Error::Malformed { .. })));
}

#[test]
fn what_is_left_of_an_earlier_attempt_to_finish_is_not_read() {
    let (_parent, dir) = unfinished();
    fs::write(dir.join("requests.parquet"), "half a file").unwrap();
    fs::write(dir.join("run.json.tmp"), "{").unwrap();
    let bundle = Bundle::open(&dir).unwrap();
    assert_eq!(bundle.requests().unwrap(), run::requests_after(APPENDS));
}

#[test]
fn an_interrupted_run_can_be_finished_whole() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let writer = run::unfinished(&dir, APPENDS);
    let state = RunState::Interrupted { reason: "ctrl-c".into() };
    writer.finish(RunInfo { state: state.clone(), ..run::info() }).unwrap();
    let bundle = Bundle::open(&dir).unwrap();
    assert_eq!(bundle.info().state, state);
    assert!(bundle.salvage().is_none());
    assert_eq!(bundle.requests().unwrap(), run::requests_after(APPENDS));
    assert_eq!(bundle.info().warnings, Vec::<String>::new());
}
