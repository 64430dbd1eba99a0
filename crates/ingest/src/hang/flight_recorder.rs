//! PyTorch's flight recorder: the last collectives that a rank entered, as a pickle or as JSON.
//!
//! Both forms carry the same fields; the JSON has no frames and writes an unknown time as 0, and the numbers of
//! `pg_status` as strings.

use super::{pickle, pickle::Value as Pickled, rank_of_name};
use crate::error::Error;
use firstcheck_model::hang::{Collective, CollectiveState, FlightRecord, ProcessGroup, StackFrame};
use serde_json::Value as Json;
use std::path::Path;

const FORMAT: &str = "flight record of PyTorch";

/// Whether bytes begin as a flight record does: a pickle of a dictionary with its fields, or JSON with them.
pub fn is_flight_record(head: &[u8]) -> bool {
    let names = |name: &[u8]| head.windows(name.len()).any(|part| part == name);
    let begins = head.starts_with(&[0x80]) || head.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    begins && ((names(b"pg_config") && names(b"version")) || (names(b"collective_seq_id") && names(b"profiling_name")))
}

/// Reads a flight record. `path` names it in errors and states its rank.
///
/// # Errors
/// Bytes that are neither a pickle of plain values nor JSON, or that lack the record's fields.
pub fn read_flight_record(path: &Path, bytes: &[u8]) -> Result<FlightRecord, Error> {
    let root = if bytes.starts_with(&[0x80]) {
        let value = pickle::read(bytes).map_err(|error| Error::malformed(path, None, FORMAT, error.to_string()))?;
        let mut left = Left { values: MOST_VALUES, text: MOST_TEXT };
        json_of(&value, &mut left).ok_or_else(|| {
            let reason = format!("more than {MOST_VALUES} values, or {MOST_TEXT} bytes of text, when it is unfolded");
            Error::malformed(path, None, FORMAT, reason)
        })?
    } else {
        serde_json::from_slice(bytes).map_err(|error| Error::json(path, FORMAT, &error))?
    };
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    record(&root, rank_of_name(&name)).map_err(|reason| Error::malformed(path, None, FORMAT, reason))
}

/// Values of a record at most. A pickle can refer to one list many times over, and grow without end when it is unfolded.
const MOST_VALUES: usize = 2_000_000;

/// Bytes of text at most, for the same reason: a hundred a value, which is the name of a file of a deep frame.
const MOST_TEXT: usize = 100 * MOST_VALUES;

/// What a record may still hold when its references are unfolded.
struct Left {
    values: usize,
    text: usize,
}

impl Left {
    fn text(&mut self, text: &str) -> Option<String> {
        self.text = self.text.checked_sub(text.len())?;
        Some(text.to_owned())
    }
}

/// The pickled form in terms of the JSON form, which has fewer types; `None` when nothing is `left`.
fn json_of(value: &Pickled, left: &mut Left) -> Option<Json> {
    left.values = left.values.checked_sub(1)?;
    Some(match value {
        Pickled::None => Json::Null,
        Pickled::Bool(value) => Json::Bool(*value),
        Pickled::Int(value) => Json::from(*value),
        Pickled::Float(value) => Json::from(*value),
        Pickled::Text(text) => Json::from(left.text(text)?),
        Pickled::Bytes(bytes) => Json::from(left.text(&String::from_utf8_lossy(bytes))?),
        Pickled::List(items) => Json::Array(items.iter().map(|item| json_of(item, left)).collect::<Option<_>>()?),
        Pickled::Dict(items) => {
            let mut object = serde_json::Map::new();
            for (key, value) in items.iter() {
                let name = match key {
                    Pickled::Text(text) => left.text(text)?,
                    other => json_of(other, left)?.to_string(),
                };
                object.insert(name, json_of(value, left)?);
            }
            Json::Object(object)
        }
    })
}

fn record(root: &Json, rank: Option<u32>) -> Result<FlightRecord, String> {
    let version = text(root, "version").ok_or("it has no field `version`")?;
    let entries = match root.get("entries") {
        Some(Json::Array(entries)) => entries.as_slice(),
        None | Some(Json::Null) => &[],
        Some(_) => return Err("its `entries` are no list".into()),
    };
    let collectives: Result<Vec<_>, String> = entries
        .iter()
        .enumerate()
        .map(|(place, entry)| collective(entry).map_err(|reason| format!("entry {place}: {reason}")))
        .collect();
    Ok(FlightRecord { rank, version, groups: groups(root), collectives: collectives? })
}

/// The groups of `pg_config` with the progress that `pg_status` states. The two use different keys (Gloo leaves the
/// first empty): where there is one of each they are the same group.
fn groups(root: &Json) -> Vec<ProcessGroup> {
    let empty = serde_json::Map::new();
    let config = root.get("pg_config").and_then(Json::as_object).unwrap_or(&empty);
    let status = root.get("pg_status").and_then(Json::as_object).unwrap_or(&empty);
    let group = |key: &str, config: Option<&Json>, status: Option<&Json>| {
        let progress = |field| status.and_then(|status| number(status, field)).and_then(|n| u64::try_from(n).ok());
        ProcessGroup {
            key: key.to_owned(),
            description: config.and_then(|config| text(config, "desc")).unwrap_or_default(),
            ranks: config.and_then(|config| config.get("ranks")).map(ranks).unwrap_or_default(),
            last_enqueued: progress("last_enqueued_collective"),
            last_started: progress("last_started_collective"),
            last_completed: progress("last_completed_collective"),
        }
    };
    if let (1, 1) = (config.len(), status.len())
        && let (Some((_, config)), Some((key, status))) = (config.iter().next(), status.iter().next())
    {
        return vec![group(key, Some(config), Some(status))];
    }
    let only_status = status.keys().filter(|key| !config.contains_key(*key));
    config.keys().chain(only_status).map(|key| group(key, config.get(key), status.get(key))).collect()
}

/// Ranks as a list, or as the text of one: `[0, 1]`.
fn ranks(value: &Json) -> Vec<u32> {
    match value {
        Json::Array(items) => items.iter().filter_map(|item| u32::try_from(item.as_u64()?).ok()).collect(),
        Json::String(text) => {
            text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
        }
        _ => Vec::new(),
    }
}

fn collective(entry: &Json) -> Result<Collective, String> {
    let point_to_point = entry.get("is_p2p").and_then(Json::as_bool).unwrap_or(false);
    let field = if point_to_point { "p2p_seq_id" } else { "collective_seq_id" };
    let sequence = number(entry, field).and_then(|n| u64::try_from(n).ok());
    let state = match text(entry, "state").as_deref() {
        _ if entry.get("retired").and_then(Json::as_bool) == Some(true) => CollectiveState::Completed,
        Some("completed") => CollectiveState::Completed,
        Some("started") => CollectiveState::Started,
        Some("scheduled") => CollectiveState::Scheduled,
        other => return Err(format!("unknown `state` {}", other.unwrap_or("(none)"))),
    };
    let time = |field| number(entry, field).filter(|time| *time > 0);
    let group = match entry.get("process_group") {
        Some(Json::Array(names)) => names.first().and_then(Json::as_str).map(str::to_owned),
        _ => None,
    };
    let frame = |frame: &Json| StackFrame {
        function: text(frame, "name").unwrap_or_default(),
        file: text(frame, "filename"),
        line: number(frame, "line").and_then(|line| u32::try_from(line).ok()),
    };
    Ok(Collective {
        group: group.or_else(|| number(entry, "pg_id").map(|id| id.to_string())).ok_or("no `process_group`")?,
        sequence: sequence.ok_or_else(|| format!("no `{field}`"))?,
        point_to_point,
        operation: text(entry, "profiling_name").ok_or("no `profiling_name`")?,
        input_sizes: sizes(entry.get("input_sizes")),
        output_sizes: sizes(entry.get("output_sizes")),
        input_types: match entry.get("input_dtypes") {
            Some(Json::Array(types)) => types.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect(),
            Some(Json::String(one)) => vec![one.clone()],
            _ => Vec::new(),
        },
        state,
        created_ns: time("time_created_ns"),
        started_ns: time("time_discovered_started_ns"),
        completed_ns: time("time_discovered_completed_ns"),
        frames: entry
            .get("frames")
            .and_then(Json::as_array)
            .map_or_else(Vec::new, |all| all.iter().map(frame).collect()),
    })
}

fn sizes(value: Option<&Json>) -> Vec<Vec<u64>> {
    let Some(Json::Array(shapes)) = value else { return Vec::new() };
    shapes.iter().map(|shape| shape.as_array().into_iter().flatten().filter_map(Json::as_u64).collect()).collect()
}

fn text(value: &Json, field: &str) -> Option<String> {
    value.get(field)?.as_str().map(str::to_owned)
}

/// A number, also one written as a string.
fn number(value: &Json, field: &str) -> Option<i64> {
    match value.get(field)? {
        Json::Number(number) => number.as_i64(),
        Json::String(text) => text.parse().ok(),
        _ => None,
    }
}
