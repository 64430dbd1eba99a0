//! A result file of another tool: an error or runs, and no decoder that gave up.

#![no_main]

use firstcheck_ingest::{Limits, read_recordings_within};
use libfuzzer_sys::fuzz_target;
use std::{cell::RefCell, fs, path::PathBuf};
use tempfile::TempDir;

thread_local! {
    static FOLDER: RefCell<Option<(TempDir, PathBuf)>> = const { RefCell::new(None) };
}

fuzz_target!(|data: &[u8]| {
    FOLDER.with_borrow_mut(|folder| {
        let (_, path) = folder.get_or_insert_with(|| {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("result");
            (folder, path)
        });
        fs::write(&path, data).expect("a file");
        match read_recordings_within(path, &Limits { file_bytes: 1 << 20, ..Limits::default() }) {
            Ok(runs) => {
                for run in runs {
                    // Events belong to requests, and folding them must not trip over any of them.
                    assert!(run.events.iter().all(|event| (event.request as usize) < run.requests.len()));
                    let _ = run.into_evidence("fuzzed");
                }
            }
            // The border turns a panic into an error that says this.
            Err(error) => assert!(!error.to_string().contains("gave up"), "{error}"),
        }
    });
});
