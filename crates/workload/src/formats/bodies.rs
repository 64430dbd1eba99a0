//! Request bodies as they are, one JSON object a line, each with `messages` or `prompt`.

use super::{Reading, Slice, in_line, lines::Lines};
use crate::{body, error::Error, prompt::Prompt};
use serde_json::{Map, Value};
use std::{io::BufRead, sync::Arc};

/// Reads request bodies.
pub(crate) fn read(source: &mut dyn BufRead, slice: Slice) -> Result<Reading<Prompt>, Error> {
    let mut reading = Reading::new(slice);
    Lines::new(source).read_rows(&mut reading, row)?;
    Ok(reading)
}

fn row(line: &str) -> Result<Prompt, String> {
    match serde_json::from_str(line).map_err(|error| in_line(&error))? {
        Value::Object(map) => checked(map),
        _ => Err("no JSON object: expected a request body such as {\"messages\": […]}".to_owned()),
    }
}

fn checked(map: Map<String, Value>) -> Result<Prompt, String> {
    if map.contains_key("messages") && map.contains_key("prompt") {
        return Err("both messages and prompt: expected one of them".to_owned());
    }
    if !map.contains_key("messages") && !map.contains_key("prompt") {
        return Err("neither messages nor prompt: expected one of them".to_owned());
    }
    if !body::has_prompt(&map) {
        return Err("no text and no token ids: expected messages with content, or a prompt".to_owned());
    }
    Ok(Prompt::Body(Arc::new(map)))
}
