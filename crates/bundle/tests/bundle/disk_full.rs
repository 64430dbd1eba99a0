//! A disk without room ends a run as interrupted, with the reason.

use crate::run;
use firstcheck_bundle::{Bundle, Writer};
use firstcheck_model::run::RunState;
use std::{env, path::Path, process::Command};

const DIR: &str = "FIRSTCHECK_TEST_FULL_DIR";

/// Not a test: a writer under a limit on file sizes, which fails as a full disk does.
#[test]
#[ignore = "started by another test as a process of its own"]
fn child() {
    let Ok(dir) = env::var(DIR) else { return };
    let mut writer = run::unfinished(Path::new(&dir), 0);
    let error = (0..1_000_000).find_map(|n| run::append(&mut writer, n).err()).expect("the limit never struck");
    assert!(error.is_disk_full(), "{error}");
    writer.abort(&error.to_string()).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_while_appending_interrupts_the_run() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    // 256 blocks are 128 or 256 KiB, depending on the shell.
    let status = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 256; exec \"$0\" --exact disk_full::child --ignored"])
        .arg(env::current_exe().unwrap())
        .env(DIR, &dir)
        .output()
        .unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));

    let bundle = Bundle::open(&dir).unwrap();
    let RunState::Interrupted { reason } = &bundle.info().state else { panic!("it says complete") };
    assert!(reason.contains("cannot write") && reason.contains("File too large"), "{reason}");
    assert!(bundle.salvage().is_none(), "the rows were brought to Parquet");
    let appends = bundle.requests().unwrap().len() as u32;
    assert!(appends > 10, "{appends}");
    assert_eq!(bundle.requests().unwrap(), run::requests_after(appends));
    assert_eq!(bundle.recording().unwrap().events, run::events_after(appends));
}

/// `/dev/full` in the place of a temporary file: every write to it fails as on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_while_finishing_leaves_the_journal_and_says_why() {
    for file in ["events.parquet.tmp", "requests.parquet.tmp"] {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("run");
        let writer = run::unfinished(&dir, 9);
        std::os::unix::fs::symlink("/dev/full", dir.join(file)).unwrap();
        let error = writer.finish(run::info()).unwrap_err();
        assert!(error.is_disk_full(), "{error}");

        let bundle = Bundle::open(&dir).unwrap();
        let RunState::Interrupted { reason } = &bundle.info().state else { panic!("it says complete") };
        assert!(reason.contains("No space left on device"), "{reason}");
        assert_eq!(bundle.salvage().unwrap().appends, 9);
        assert_eq!(bundle.requests().unwrap(), run::requests_after(9));
        assert!(!dir.join("events.parquet").exists(), "half-finished files are removed");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_cannot_even_begin_is_an_error() {
    let error = Writer::create(Path::new("/dev/full/run"), &run::info()).unwrap_err();
    assert!(error.to_string().starts_with("cannot create /dev/full/run: "), "{error}");
}
