//! `firstcheck sweep`: the search, its report and its refusals.

use crate::{harness::Bench, schema::violations};
use serde_json::Value;

const SWEEP: [&str; 8] = ["sweep", "--target", "sim:", "--slo", "ttft=500ms,itl=30ms", "--rate", "32", "--warm-up"];

#[test]
fn the_rate_is_found_and_the_report_holds_to_the_schema() {
    let bench = Bench::new();
    let more = ["2s", "--duration", "10s", "--precision", "0.2", "--share", "0.9", "--gpus", "4", "--format", "json"];
    let said = bench.expect(0, &[&SWEEP[..], &more, &["--out", "sweep"]].concat());
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(violations(&report), Vec::<String>::new(), "{}", said.out);
    let breaks = &report["sweep"]["curves"][0]["breaks"];
    let rate = breaks["rate"].as_f64().unwrap();
    let hours = breaks["gpu_hours_per_good"].as_f64().unwrap();
    assert!((hours - 4.0 / (rate * 0.9) / 3600.0).abs() < 1e-9, "{breaks}");
    let again = bench.expect(0, &[&SWEEP[..], &more, &["--out", "sweep"]].concat());
    assert_eq!(again.out, said.out, "what is there is read, not run again");
}

#[test]
fn a_plan_says_what_it_takes_at_most() {
    let bench = Bench::new();
    let said = bench.expect(0, &[&SWEEP[..], &["30s", "--length-cv", "0,1", "--plan"]].concat()).out;
    for part in ["runs: at most 60, for 2 spreads of lengths, 90 min of virtual time", "a run: 90 s", "±5 %"] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn what_cannot_be_swept_is_said_with_its_mend() {
    let bench = Bench::new();
    let cases: [(&[&str], &str); 6] = [
        (&["--target", "sim:"], "give --slo"),
        (&["--target", "sim:", "--slo", "ttft=1s", "--concurrency", "4"], "leave out --concurrency"),
        (&["--slo", "ttft=1s"], "give --target an address or sim:"),
        (&["--target", "sim:", "--slo", "ttft=1s", "--lowest", "5", "--highest", "2"], "is not below"),
        (&["--target", "sim:", "--slo", "ttft=1s", "--share", "95"], "a share between 0 and 1"),
        (&["--target", "sim:", "--slo", "ttft=1s", "--requests", "40"], "give --duration"),
    ];
    for (args, expected) in cases {
        let said = bench.expect(2, &[&["sweep"], args].concat());
        assert!(said.err.contains(expected), "{args:?}: {}", said.err);
    }
}
