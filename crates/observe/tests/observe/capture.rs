//! Captures, as far as one process shows them; the command line's tests look into archives.

use crate::server::{Server, raw};
use firstcheck_observe::{
    Headers,
    capture::{Captured, Limits, Plan, Series, capture, write_archive},
};
use std::time::Duration;

fn limits() -> Limits {
    Limits {
        gap: Duration::ZERO,
        answer: Duration::from_millis(100),
        item: Duration::from_secs(5),
        ..Limits::default()
    }
}

fn gaps(captured: &Captured, item: &str) -> String {
    let of_item = captured.manifest.gaps().filter(|(name, _)| *name == item);
    of_item.map(|(_, why)| why.to_owned()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_server_that_never_answers_costs_its_deadline_and_nothing_else() {
    let base = raw(b"", true).await;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("server.log");
    std::fs::write(&log, "INFO 01-02 03:04:05 [a.py:1] Started\n").unwrap();
    let plan = Plan { base: Some(base), logs: vec![log], limits: limits(), ..Plan::default() };
    let captured = capture(&plan, "test").await;
    let why = gaps(&captured, "metrics");
    assert!(why.contains("the first reading: ") && why.contains("did not answer in full within 0.1 s"), "{why}");
    assert!(!gaps(&captured, "server").is_empty());
    assert_eq!(gaps(&captured, "log server.log"), "");
    assert!(captured.files.iter().any(|file| file.name == "log-1.log"));
    assert!(captured.manifest.has_files());
}

#[tokio::test]
async fn an_item_that_outlasts_its_deadline_is_given_up() {
    let server = Server::start(&[("/metrics", 200, "a 1\n")]).await;
    let item = Duration::from_millis(50);
    let limits = Limits { gap: Duration::from_secs(600), item, ..limits() };
    let captured = capture(&Plan { base: Some(server.base.clone()), limits, ..Plan::default() }, "test").await;
    assert_eq!(gaps(&captured, "metrics"), "it was not done within 0.05 s");
}

#[tokio::test]
async fn what_is_no_log_is_listed_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let logs = vec![folder.path().to_owned(), folder.path().join("nowhere.log")];
    let captured = capture(&Plan { logs, limits: limits(), ..Plan::default() }, "test").await;
    let all: Vec<_> = captured.manifest.gaps().filter(|(item, _)| item.starts_with("log ")).collect();
    assert!(all[0].1.contains("it is no file") && all[1].1.contains("it cannot be read: "), "{all:?}");
}

#[tokio::test]
async fn only_the_end_of_a_long_log_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("server.log");
    let lines: String = (0..1000).map(|n| format!("INFO 01-02 03:04:05 [a.py:1] line {n}\n")).collect();
    std::fs::write(&log, lines).unwrap();
    let limits = Limits { log_bytes: 1000, ..limits() };
    let captured = capture(&Plan { logs: vec![log], limits, ..Plan::default() }, "test").await;
    let file = captured.files.iter().find(|file| file.name == "log-1.log").unwrap();
    let text = String::from_utf8_lossy(&file.bytes);
    assert!(text.len() <= 1000 && text.ends_with("line 999\n") && text.starts_with("INFO"), "{text}");
}

#[tokio::test]
async fn a_target_that_refuses_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let captured = capture(&Plan { limits: limits(), ..Plan::default() }, "test").await;
    assert!(write_archive(&captured, Full).unwrap_err().to_string().starts_with("cannot write the archive: "));
}

#[tokio::test]
async fn a_prometheus_that_cannot_be_asked_is_listed() {
    let server = Server::start(&[("/api/v1/query", 200, "<html>")]).await;
    let series = Series {
        base: server.base.clone(),
        headers: Headers::default(),
        select: vec!["job=\"vllm\"".parse().unwrap()],
        since: Duration::from_secs(3600),
    };
    let captured = capture(&Plan { series: Some(series), limits: limits(), ..Plan::default() }, "test").await;
    let why = gaps(&captured, "series");
    assert!(why.contains("/api/v1/query"), "{why}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_process_started_is_taken_with_it() {
    use std::process::{Command, Stdio};
    // The shell waits for its child, which waits for the input to end (its own would be empty, in the background).
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec 3<&0; cat <&3 & echo $!; wait"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut parent = shell.spawn().unwrap();
    let mut child = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(parent.stdout.take().unwrap()), &mut child).unwrap();
    let (pid, child) = (parent.id(), child.trim().parse::<u32>().unwrap());
    let captured = capture(&Plan { pids: vec![pid], limits: limits(), ..Plan::default() }, "test").await;
    let items: Vec<&str> = captured.manifest.items.iter().map(|item| item.name.as_str()).collect();
    assert!(items.contains(&format!("process {pid}").as_str()), "{items:?}");
    assert!(items.contains(&format!("process {child} (started by {pid})").as_str()), "{items:?}");
    assert!(captured.files.iter().any(|file| file.name == format!("smaps_rollup-{child}.txt")));
    drop(parent.stdin.take());
    parent.kill().unwrap();
    parent.wait().unwrap();
}
