//! Every JSON report holds to `docs/schema/firstcheck.report-1.schema.json`.

use crate::{
    fixtures,
    harness::{Bench, arg},
    results::Like,
};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../../docs/schema/firstcheck.report-1.schema.json");

/// What `report` breaks of the schema.
pub fn violations(report: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
    validator.iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn holds(text: &str) {
    let report: Value = serde_json::from_str(text).unwrap();
    assert_eq!(violations(&report), Vec::<String>::new(), "{text}");
}

#[test]
fn reports_written_by_hand_hold() {
    for report in [fixtures::regression(), fixtures::clean(), fixtures::cannot_tell(), fixtures::not_comparable()] {
        holds(&serde_json::to_string(&report).unwrap());
    }
}

#[test]
fn the_schema_is_strict() {
    let good = serde_json::to_value(fixtures::regression()).unwrap();
    type Break = fn(&mut Value);
    let broken: [(&str, Break); 9] = [
        ("an unknown key", |r| r["surprise"] = 1.into()),
        ("a key that is gone", |r| {
            r.as_object_mut().unwrap().remove("unread");
        }),
        ("another version", |r| r["schema"] = "firstcheck.report/2".into()),
        ("a verdict that does not exist", |r| r["verdict"] = "perhaps".into()),
        ("an unknown key in a row", |r| r["metrics"][0]["surprise"] = 1.into()),
        ("an unknown metric", |r| r["metrics"][0]["metric"] = "speed".into()),
        ("unbounded as null in an interval", |r| r["metrics"][0]["interval"][1] = Value::Null),
        ("an unknown key in a finding", |r| r["findings"][0]["surprise"] = 1.into()),
        ("a supported cause without facts", |r| {
            r["findings"][0]["causes"][0].as_object_mut().unwrap().remove("facts");
        }),
    ];
    for (what, breaks) in broken {
        let mut report = good.clone();
        breaks(&mut report);
        assert!(!violations(&report).is_empty(), "{what} is let through");
    }
}

#[test]
fn compare_import_and_report_hold() {
    let bench = Bench::new();
    let base = bench.write("base.json", &Like::GOOD.file());
    let candidate = bench.write("candidate.json", &Like { ttft: 4.0, ..Like::GOOD }.file());
    let slo = ["--slo", "ttft=1s,itl=50ms"];
    let compare = ["compare", "--base", arg(&base), "--candidate", arg(&candidate), "--format", "json"];
    holds(&bench.expect(1, &[&compare[..], &slo[..]].concat()).out);
    holds(&bench.expect(0, &["import", arg(&base), arg(&candidate), "--out", "runs", "--format", "json"]).out);
    holds(&bench.call(&["report", "runs/base", "--format", "json"]).out);
    holds(&bench.call(&[&["report", arg(&base), "--format", "json"][..], &slo[..]].concat()).out);
}
