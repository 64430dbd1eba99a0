//! `diagnose`: what was read, what was not, and what the checks say of it.

use crate::{
    harness::{Bench, arg},
    results::Like,
    schema::violations,
};
use firstcheck_sim::{
    EngineConfig,
    serve::{ServeOptions, Server},
};
use serde_json::Value;
use std::{io::Write, process::Stdio};

const PAGE: &str = "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\"} 3.0\n\
                    # TYPE vllm:strange gauge\nvllm:strange{engine=\"0\"} 3.0\n";

fn json(text: &str) -> Value {
    let report: Value = serde_json::from_str(text).unwrap();
    assert_eq!(violations(&report), Vec::<String>::new());
    report
}

#[test]
fn a_folder_says_what_is_in_it_and_what_is_not() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("pile")).unwrap();
    bench.write("pile/bench.json", &Like::GOOD.file());
    bench.write("pile/poem.txt", "roses are red\n");
    bench.write("pile/version.json", r#"{"version":"0.77"}"#);
    bench.write("pile/history.txt", &format!("1700000000\n{PAGE}1700000060\n{PAGE}"));
    let said = bench.expect(0, &["diagnose", "pile", "--all"]);
    for part in [
        "3 read, 1 listed as not read",
        "covers 2023-11-14T22:13:20Z to 2023-11-14T22:14:20Z",
        "vllm 0.77, replicas engine=0",
        "poem.txt: text of no known format",
        "1 series were read and say nothing that firstcheck knows: --verbose lists them",
        "constant-preemption",
    ] {
        assert!(said.out.contains(part), "{part}:\n{}", said.out);
    }
    assert!(!said.out.contains("vllm:strange"));
    let first = bench.expect(0, &["diagnose", "pile"]).out;
    assert!(first.lines().count() <= 24, "{first}");
    for part in ["3 read, 1 listed as not read in ", "poem.txt: text of no known format", "could not tell", "--all"] {
        assert!(first.contains(part), "{part}:\n{first}");
    }
    let said = bench.expect(0, &["diagnose", "pile", "--verbose"]);
    assert!(said.out.contains("vllm:strange"), "{}", said.out);
    let report = json(&bench.expect(0, &["diagnose", "pile", "--verbose", "--format", "json"]).out);
    assert_eq!(report["read"].as_array().unwrap().len(), 3);
    assert_eq!(report["not_understood"][0]["kind"], "vllm:strange");
    assert!(
        bench.expect(0, &["diagnose", "pile", "--format", "markdown"]).out.contains("<summary>What was read</summary>")
    );
}

#[test]
fn a_deployment_is_not_compared_with_itself() {
    let bench = Bench::new();
    bench.expect(0, &["sim", "run", "--rate", "2", "--duration", "30s", "--out", "run"]);
    for (source, base) in [("run", "run"), ("run/", "./run"), (".", "run"), ("run", ".")] {
        let said = bench.expect(2, &["diagnose", source, "--base", base]);
        assert!(said.err.contains("are one, or one lies in the other"), "{}", said.err);
    }
    let said = bench.expect(2, &["diagnose", "http://127.0.0.1:1", "--base", "http://127.0.0.1:1/"]);
    assert!(said.err.contains("is asked on both sides"), "{}", said.err);
    // A copy is told by what is in it.
    std::fs::rename(bench.path("run"), bench.path("one")).unwrap();
    std::fs::remove_file(bench.path("run.truth.json")).unwrap();
    bench.expect(0, &["sim", "run", "--rate", "2", "--duration", "30s", "--out", "run"]);
    let said = bench.expect(3, &["diagnose", "run", "--base", "one"]);
    assert!(said.out.contains("not to be believed: one run stands on both sides"), "{}", said.out);
}

#[test]
fn standard_input_is_a_file_without_a_name() {
    let bench = Bench::new();
    let mut child = bench
        .command(&["diagnose", "-", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(PAGE.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let report = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!((report["read"][0]["path"].as_str(), report["read"][0]["rows"].as_u64()), (Some("-"), Some(2)));
}

#[test]
fn nothing_that_could_be_read_is_3_and_a_missing_path_2() {
    let bench = Bench::new();
    let poem = bench.write("poem.txt", "roses are red\n");
    let said = bench.expect(3, &["diagnose", arg(&poem)]);
    assert!(said.out.contains("nothing that was given could be read"), "{}", said.out);
    let report = json(&bench.expect(3, &["diagnose", arg(&poem), "--format", "json"]).out);
    assert!(report.get("read").is_none());
    bench.expect(2, &["diagnose", "nowhere"]);
    bench.expect(2, &["diagnose"]);
}

#[test]
fn an_engine_is_watched_beside_files() {
    let (bench, engine) = (Bench::new(), Server::start(EngineConfig::default(), ServeOptions::default()).unwrap());
    let url = format!("http://{}", engine.addr());
    bench.write("bench.json", &Like::GOOD.file());
    let report = json(&bench.expect(0, &["diagnose", &url, "bench.json", "--for", "1s", "--format", "json"]).out);
    let paths: Vec<&str> = report["read"].as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect();
    for path in ["bench.json".to_owned(), format!("{url}/metrics"), format!("{url}/version.json")] {
        assert!(paths.contains(&path.as_str()), "{path}: {paths:?}");
    }
    let page = format!("{url}/metrics");
    let report = json(&bench.expect(0, &["diagnose", &page, "--for", "1s", "--format", "json"]).out);
    assert!(
        report["notes"].to_string().contains("was watched for 1 s: --for takes a longer window"),
        "{}",
        report["notes"]
    );
    let watched = report["read"].as_array().unwrap().iter().find(|row| row["path"] == page.as_str()).unwrap();
    assert!(watched["engine"] == "vllm" && watched["length_s"].as_f64().is_some_and(|s| s > 0.5), "{watched}");
    let said = bench.expect(2, &["diagnose", &url, "--select", "job=\"vllm\""]);
    assert!(said.err.contains("is none: leave it out"), "{}", said.err);
}

#[test]
fn addresses_and_their_options_are_held_to_each_other() {
    let bench = Bench::new();
    bench.write("bench.json", &Like::GOOD.file());
    let nobody = "http://127.0.0.1:9";
    let cases: [(&[&str], &str); 11] = [
        (&[nobody], "cannot connect"),
        (&["http://user:hunter2@127.0.0.1:9"], "send a header instead"),
        (&[nobody, "--key-env", "FIRSTCHECK_TEST_NO_SUCH_KEY"], "FIRSTCHECK_TEST_NO_SUCH_KEY"),
        (&[nobody, "--user-env", "FIRSTCHECK_TEST_NO_SUCH_KEY"], "holds no USER:PASSWORD"),
        (&["bench.json", "--select", "job=\"vllm\""], "give its address"),
        (&[nobody, "--since", "40m"], "--select"),
        (&["bench.json", "--base", "24h-ago"], "names a span of a Prometheus"),
        (&["bench.json", "--base", "24h-ago", "--base", "bench.json"], "either one span"),
        (&["bench.json", "--base", "nowhere"], "cannot read nowhere"),
        (&[nobody, "--select", "job=vllm"], "values stand in quotes"),
        (&[nobody, "--select", "job=\"vllm\"", "--since", "soon"], "is no moment"),
    ];
    for (case, expected) in cases {
        let said = bench.expect(2, &[&["diagnose"], case].concat());
        assert!(said.err.contains(expected) && !said.err.contains("hunter2"), "{case:?}: {}", said.err);
    }
}

#[test]
fn a_base_of_files_is_compared_with() {
    let bench = Bench::new();
    let sim =
        |args: &[&str]| bench.expect(0, &[&["sim", "run", "--duration", "20s", "--warm-up", "0s"], args].concat());
    let small = ["--blocks", "2600", "--max-model-len", "8192", "--rate", "30"];
    let crowded = [&small[..], &["--fault", "kv-pool-shrank:share=0.3"]].concat();
    sim(&[&crowded[..], &["--out", "sick"]].concat());
    sim(&[&crowded[..], &["--healthy", "--out", "well"]].concat());
    let report = json(&bench.expect(0, &["diagnose", "sick", "--base", "well", "--format", "json"]).out);
    let finding = report["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "S15").unwrap();
    assert_eq!(finding["outcome"], "present", "{finding}");
    let causes = finding["causes"].as_array().unwrap();
    let shrank = causes.iter().find(|cause| cause["id"] == "kv-pool-shrank").unwrap();
    assert_eq!(shrank["status"], "supported", "{shrank}");
}

#[test]
fn one_symptom_is_asked_about_in_words_or_by_code() {
    let bench = Bench::new();
    bench.write("bench.json", &Like::GOOD.file());
    let asked = ["diagnose", "bench.json", "--format", "json", "--symptom"];
    // A result file alone tells nothing of preemption.
    for words in ["S15", "constant-preemption", "preemption is constant at peak"] {
        let report = json(&bench.expect(3, &[&asked[..], &[words]].concat()).out);
        assert_eq!(report["asked"], serde_json::json!(["S15"]), "{words}");
        assert_eq!(report["findings"].as_array().unwrap().len(), 1);
    }
    let said = bench.expect(2, &[&asked[..], &["zebra crossing"]].concat());
    assert!(said.err.contains("no check knows the symptom `zebra crossing`"), "{}", said.err);
}
