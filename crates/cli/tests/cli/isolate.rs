//! `firstcheck isolate`: what is asked, what is refused, what is reported.

use crate::{harness::Bench, schema::violations};
use serde_json::Value;

const SHORT: [&str; 6] = ["--rate", "6", "--warm-up", "2s", "--duration", "10s"];
const TARGET: [&str; 2] = ["--target", "sim:{host} --blocks {blocks}"];
const FACTORS: [&str; 4] = ["--factor", "host=old:=,new:=slow-replica:host_ms=8", "--factor", "blocks=20000,8200"];

fn with<'a>(more: &[&[&'a str]]) -> Vec<&'a str> {
    [&["isolate"][..], &more.concat()].concat()
}

fn json(text: &str) -> Value {
    let report: Value = serde_json::from_str(text).unwrap();
    assert_eq!(violations(&report), Vec::<String>::new(), "{text}");
    report
}

#[test]
fn a_plan_says_what_runs_and_what_never_does() {
    let bench = Bench::new();
    let rule = ["--forbid", "host=new,blocks=20000"];
    let said = bench.expect(0, &with(&[&["--plan"], &FACTORS, &TARGET, &rule, &SHORT])).out;
    for part in [
        "run: host old with blocks 8200 on sim:--blocks 8200",
        "never run: host new with blocks 20000",
        "tells: what each step of the supported path does; not whether factors interact",
        "blocks: 9, 27 runs",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let search = ["--plan", "--versions", "0,1,2,8,9", "--target", "sim:slow-replica:host_ms={version}"];
    let said = bench.expect(0, &with(&[&search, &SHORT])).out;
    assert!(said.contains("5 versions, 0 to 9\n") && said.contains("2 more in which"), "{said}");
    assert_eq!(std::fs::read_dir(bench.path("")).unwrap().count(), 0, "nothing was written");
}

#[test]
fn what_is_named_stands_in_a_report_that_holds_to_the_schema() {
    let bench = Bench::new();
    let more = ["--blocks", "4", "--metric", "tpot:p50", "--format", "json", "--out", "iso"];
    let report = json(&bench.expect(1, &with(&[&FACTORS, &TARGET, &SHORT, &more])).out);
    assert_eq!(report["isolation"]["culprits"][0]["name"], "host", "{}", report["why"]);
    assert_eq!(report["isolation"]["effects"].as_array().unwrap().len(), 8);
    let other = ["--blocks", "4", "--metric", "tpot:p50", "--out", "iso", "--seed", "9"];
    let said = bench.expect(2, &with(&[&FACTORS, &TARGET, &SHORT, &other]));
    assert!(said.err.contains("seed: 1 there, 9 asked"), "{}", said.err);
}

#[test]
fn versions_come_from_a_file_and_the_first_bad_one_is_named() {
    let bench = Bench::new();
    bench.write("versions", "0\n1\n\n12\n13\n");
    let more = ["--versions-from", "versions", "--target", "sim:slow-replica:host_ms={version}", "--looks", "4,6"];
    let report = json(&bench.expect(1, &with(&[&more, &SHORT, &["--format", "json"]])).out);
    assert_eq!(report["isolation"]["culprits"][0]["name"], "12", "{}", report["why"]);
}

#[test]
fn what_cannot_be_isolated_is_said_with_its_mend() {
    let bench = Bench::new();
    let factors = "[isolate.deployment]\ntarget = \"http://127.0.0.1:1\"\n";
    bench.write("shell.toml", &format!("{factors}start = [\"sh\", \"-c\", \"serve {{version}}\"]\n"));
    bench.write("ssh.toml", &format!("{factors}start = [\"ssh\", \"host\", \"serve {{version}}\"]\n"));
    bench.write("fixed.toml", factors);
    let shell = ["--config", "shell.toml", "--versions", "1,2"];
    let ssh = ["--config", "ssh.toml", "--versions", "1,2;reboot"];
    let fixed = ["--config", "fixed.toml", "--versions", "1,2"];
    let cases: [(&[&str], &str); 9] = [
        (&shell, "write \"$FIRSTCHECK_VERSION\" there"),
        (&ssh, "hands words to a shell"),
        (&fixed, "write {version} where its value goes"),
        (&["--versions", "1,1", "--target", "sim:"], "listed twice"),
        (&["--factor", "a=x,y", "--target", "sim:"], "1 factors: name two or three"),
        (&["--factor", "a=x", "--factor", "b=x,y", "--target", "sim:"], "fewer than two levels"),
        (&["--factor", "a", "--target", "sim:"], "expected NAME=LEVEL,LEVEL"),
        (&["--versions", "1,2"], "give --target an address or sim:"),
        (&["--versions", "1,2", "--target", "sim:", "--metric", "speed"], "no metric is called speed"),
    ];
    for (args, expected) in cases {
        let said = bench.expect(2, &with(&[args]));
        assert!(said.err.contains(expected), "{args:?}: {}", said.err);
    }
}
