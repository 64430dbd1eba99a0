//! A report that may leave the house: without names of hosts, addresses, paths, models and users, and without any text of a
//! request.
//!
//! What is named in a field of its own is known, and is taken out wherever else it stands. What only looks like an
//! address, a path or a name is taken out by its shape. The same name gets the same placeholder throughout, so that a
//! reader can still tell two of them apart.

mod names;
mod shape;

use crate::RenderError;
use firstcheck_model::{
    fingerprint::{UNSET, impact},
    report::Report,
};
use names::{Kind, Names};
use serde_json::{Map, Value};

/// What stands for text that is taken out as a whole.
pub(crate) const REMOVED: &str = "(text removed)";

/// Keys whose values are of a closed set, or this program's own words.
const OWN: [&str; 25] = [
    "schema",
    "verb",
    "verdict",
    "metric",
    "stat",
    "unit",
    "group",
    "came",
    "impact",
    "outcome",
    "status",
    "severity",
    "claim",
    "level",
    "reach",
    "rule",
    "format",
    "basis",
    "code",
    "slug",
    "side",
    "tool",
    "consequence_of",
    "method",
    "engine",
];

/// Keys whose values are files, addresses or folders.
const FILES: [&str; 6] = ["path", "from", "base_from", "candidate_from", "label", "run"];

/// `report` without what identifies whose it is.
///
/// # Errors
/// [`RenderError::Json`] when a report has no JSON form, which no report of this version should cause.
///
/// # Example
/// ```
/// use firstcheck_model::report::Report;
/// let mut report = Report::new("diagnose", "firstcheck 0.1.0");
/// report.why.push("http://gpu-7.example.com:8000 answered, gpu-7.example.com is alive".into());
/// let shared = firstcheck_report::redact(&report).unwrap();
/// assert_eq!(shared.why, ["address-1 answered, host-1 is alive"]);
/// ```
pub fn redact(report: &Report) -> Result<Report, RenderError> {
    let mut value = serde_json::to_value(report)?;
    let mut names = Names::default();
    gather(&value, &mut names);
    for side in ["base", "candidate"] {
        let fields = value.pointer_mut(&format!("/sides/{side}/fingerprint"));
        if let Some(fields) = fields.and_then(Value::as_object_mut) {
            fields.iter_mut().for_each(|(name, field)| stated(name, field, &mut names));
        }
    }
    for list in ["differences", "one_sided"] {
        let rows = value.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for row in rows {
            let field = row["field"].as_str().unwrap_or_default().to_owned();
            for key in ["base", "candidate", "value"] {
                if let Some(Value::String(text)) = row.get_mut(key) {
                    *text = shown(&field, text, &mut names);
                }
            }
        }
    }
    walk("", &mut value, &mut names);
    Ok(serde_json::from_value(value)?)
}

/// Learns every name that has a field of its own.
fn gather(value: &Value, names: &mut Names) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| gather(item, names)),
        Value::Object(fields) => {
            for (key, inner) in fields {
                learn(key, inner, names);
                gather(inner, names);
            }
        }
        Value::String(text) => shape::hosts(text).for_each(|host| names.learn(Kind::Host, host)),
        _ => {}
    }
}

fn learn(key: &str, value: &Value, names: &mut Names) {
    match (key, value) {
        ("fingerprint", Value::Object(fields)) => {
            for (name, field) in fields {
                let statements = field["also"].as_array().into_iter().flatten().chain([field]);
                let values = statements.filter_map(|stated| stated["value"].as_str());
                values.for_each(|text| drop(shown(name, text, names)));
            }
        }
        ("labels", Value::String(labels)) => {
            shape::labels(labels).for_each(|(name, text)| names.learn(shape::kind_of_label(name), text));
        }
        ("replicas" | "worse", Value::Array(all)) => {
            all.iter().filter_map(Value::as_str).for_each(|name| names.learn(Kind::Replica, name));
        }
        ("slice", Value::String(slice)) => {
            slice.strip_prefix("tenant ").into_iter().for_each(|tenant| names.learn(Kind::User, tenant));
        }
        (key, Value::String(text)) if FILES.contains(&key) && !shape::is_endpoint(text) => {
            names.learn(Kind::File, shape::without_line(text));
        }
        ("runs", Value::Array(runs)) => {
            runs.iter().filter_map(|run| run["id"].as_str()).for_each(|id| names.learn(Kind::Run, id));
        }
        _ => {}
    }
}

/// A fingerprint's field: its own statement, and those that contradict it.
fn stated(name: &str, field: &mut Value, names: &mut Names) {
    let mut put = |one: &mut Value| {
        if let Some(Value::String(text)) = one.get_mut("value") {
            *text = shown(name, text, names);
        }
    };
    field.get_mut("also").and_then(Value::as_array_mut).into_iter().flatten().for_each(&mut put);
    put(field);
}

/// A field's value as it may be shown: numbers, switches, and words of fields that are known to matter and identify nothing.
fn shown(field: &str, value: &str, names: &mut Names) -> String {
    let plain = value == UNSET || value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok();
    if plain {
        return value.to_owned();
    }
    if let Some(kind) = shape::kind_of_field(field) {
        return names.placeholder(kind, value);
    }
    let word = |c: char| c.is_ascii_alphanumeric() || "_.+- ".contains(c);
    match impact::of(field).is_some() && value.len() <= 40 && value.chars().all(word) {
        true => value.to_owned(),
        false => names.quiet(Kind::Value, value),
    }
}

fn walk(key: &str, value: &mut Value, names: &mut Names) {
    match value {
        Value::String(_) if OWN.contains(&key) => {}
        // What an artefact says, word for word.
        Value::String(text) if ["example", "quote"].contains(&key) => *text = REMOVED.into(),
        Value::String(text) => *text = shape::clean(text, ["command", "obtain"].contains(&key), names),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(key, item, names)),
        // A server's own words: of them, only the status is kept.
        Value::Object(fields) if key == "errors" => *fields = reasons(fields),
        Value::Object(fields) => fields.iter_mut().for_each(|(key, inner)| walk(key, inner, names)),
        _ => {}
    }
}

fn reasons(errors: &Map<String, Value>) -> Map<String, Value> {
    let mut kept: Map<String, Value> = Map::new();
    for (reason, times) in errors {
        let mut words = reason.split(|c: char| !c.is_ascii_alphanumeric());
        let status = match (words.next(), words.next()) {
            (Some(http), Some(code)) if http.eq_ignore_ascii_case("http") && code.parse::<u16>().is_ok() => {
                format!("http {code}")
            }
            _ => REMOVED.into(),
        };
        let before = kept.get(&status).and_then(Value::as_u64).unwrap_or(0);
        kept.insert(status, (before + times.as_u64().unwrap_or(0)).into());
    }
    kept
}
