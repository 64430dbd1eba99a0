//! The journal of a run that was killed: whole frames are read, what follows them is not.
//!
//! The first byte chooses the table and whether the rest is the journal's bytes as they are, or the payload of a frame
//! with a right checksum: the decoder behind the checksum is reached only so. That decoder is not ours and panics on
//! crafted bytes; what must hold is that the bundle's border turns this into an error, so a panic fails only where it
//! leaves the bundle.

#![no_main]

use firstcheck_bundle::{Bundle, Writer};
use firstcheck_model::{
    moment::Moment,
    request::Request,
    run::{Arrivals, CacheState, Clock, ClockKind, Origin, RunId, RunInfo, WorkloadInfo},
};
use libfuzzer_sys::fuzz_target;
use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

thread_local! {
    static RUN: RefCell<Option<(TempDir, PathBuf)>> = const { RefCell::new(None) };
}

const TABLES: [&str; 4] = ["requests", "events", "signals", "spans"];

/// A run that was never finished, with one request.
fn unfinished() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run");
    let workload = WorkloadInfo {
        description: "one request".into(),
        arrivals: Arrivals::Unknown,
        trace_hash: None,
        salt: None,
        streaming: Some(true),
        warm_up: None,
        cache: CacheState::Unknown,
    };
    let clock = Clock { started_unix_ns: None, kind: ClockKind::Virtual };
    let info = RunInfo::new(RunId("fuzzed".into()), "fuzz", Origin::Measured, clock, workload);
    let mut writer = Writer::create(&path, &info).expect("a bundle");
    let requests = [(0, Request::offered(Moment::at(0)))];
    writer.append(firstcheck_bundle::Rows { requests: &requests, ..Default::default() }).expect("a row");
    (folder, path)
}

/// The frame of `payload` as number `append`: see docs/bundle.md.
fn frame(append: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a small payload");
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(&append.to_le_bytes());
    hasher.update(payload);
    let mut bytes = [length.to_le_bytes(), append.to_le_bytes(), hasher.finalize().to_le_bytes()].concat();
    bytes.extend_from_slice(payload);
    bytes
}

fn read(path: &Path) {
    if let Ok(bundle) = Bundle::open(path) {
        let _ = bundle.evidence("fuzzed");
        let _ = bundle.recording();
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    RUN.with_borrow_mut(|run| {
        let (_, path) = run.get_or_insert_with(|| {
            // The fuzzer's own hook ends the process at once; without it a panic that nobody catches still does.
            std::panic::set_hook(Box::new(|_| {}));
            unfinished()
        });
        let file = path.join("journal").join(TABLES[usize::from(choice % 4)]);
        let before = fs::read(&file).expect("a journal");
        let content = if choice & 4 == 0 { bytes.to_vec() } else { frame(0, bytes) };
        fs::write(&file, content).expect("a journal");
        read(path);
        fs::write(&file, before).expect("a journal");
    });
});
