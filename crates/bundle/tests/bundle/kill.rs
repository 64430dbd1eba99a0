//! `kill -9` of a real writer.

use crate::run;
use firstcheck_bundle::Bundle;
use firstcheck_model::{request::Fate, run::RunState};
use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

const DIR: &str = "FIRSTCHECK_TEST_KILL_DIR";

/// Not a test: the process that [`a_killed_run_opens_with_all_that_was_appended`] kills.
#[test]
#[ignore = "started by another test as a process of its own"]
fn child() {
    let Ok(dir) = env::var(DIR) else { return };
    let mut writer = run::unfinished(Path::new(&dir), 0);
    for n in 0..1_000_000 {
        run::append(&mut writer, n).unwrap();
        println!("appended {n}");
        std::io::stdout().flush().unwrap();
    }
    panic!("nobody killed the writer");
}

#[test]
fn a_killed_run_opens_with_all_that_was_appended() {
    for reported in [0, 1, 7, 40, 200] {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("run");
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "kill::child", "--ignored", "--nocapture"])
            .env(DIR, &dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let wanted = format!("appended {reported}");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with(&wanted)), "the writer never said `{wanted}`");
        child.kill().unwrap();
        child.wait().unwrap();

        let bundle = Bundle::open(&dir).unwrap();
        let reason = "still running or killed".to_owned();
        assert_eq!(bundle.info().state, RunState::Interrupted { reason });
        let appends = bundle.salvage().unwrap().appends;
        assert!(appends > reported, "{appends} appends left of at least {}", reported + 1);
        let requests = bundle.requests().unwrap();
        assert_eq!(requests, run::requests_after(appends));
        assert_eq!(requests.0.last().map(|r| r.fate), Some(Fate::Cancelled), "the request in flight");
        assert_eq!(bundle.recording().unwrap().events, run::events_after(appends));
    }
}
