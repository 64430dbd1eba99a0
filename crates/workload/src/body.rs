//! The prompt inside a request body of `/v1/chat/completions` or `/v1/completions`.
//!
//! `messages[].content` may be a string or an array of parts, of which those with a `text` count; `prompt` may be a
//! string, an array of strings, an array of token ids, or an array of such arrays.

use crate::text;
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

/// Token ids that stand for a salt in front of a prompt that is given as token ids. They are drawn from ids 512 to
/// 1023, which every vocabulary in use has as plain tokens: special ones stand at the very beginning or at the end.
const SALT_IDS: u32 = 4;

/// Appends the token ids of the prompt in `body`.
pub fn write_token_ids(body: &Map<String, Value>, out: &mut Vec<u32>) {
    each_part(body, &mut |part| match part {
        Part::Text(text) => text::write_token_ids(text, out),
        Part::Ids(ids) => out.extend(ids.iter().filter_map(Value::as_u64).filter_map(|id| u32::try_from(id).ok())),
    });
}

/// Appends the text of the prompt in `body`, parts joined by line feeds.
pub(crate) fn write_text(body: &Map<String, Value>, out: &mut String) {
    let start = out.len();
    each_part(body, &mut |part| {
        if out.len() > start {
            out.push('\n');
        }
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Ids(ids) => {
                let ids = ids.iter().filter_map(Value::as_u64).filter_map(|id| u32::try_from(id).ok());
                text::render(ids, out);
            }
        }
    });
}

/// Whether `body` holds a prompt at all.
pub(crate) fn has_prompt(body: &Map<String, Value>) -> bool {
    let mut any = false;
    each_part(body, &mut |_| any = true);
    any
}

/// The output limit that `body` asks for: `max_completion_tokens`, or else `max_tokens`.
pub fn max_tokens(body: &Map<String, Value>) -> Option<u32> {
    ["max_completion_tokens", "max_tokens"]
        .into_iter()
        .find_map(|field| body.get(field)?.as_u64())
        .and_then(|tokens| u32::try_from(tokens).ok())
}

/// Fields that bind the answer to a schema or grammar: of OpenAI's API, of vLLM now and before 0.12, of SGLang.
const SCHEMA_FIELDS: [&str; 9] = [
    "response_format",
    "structured_outputs",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "json_schema",
    "regex",
    "ebnf",
];

/// Hash (xxh3, 64 bits) of the schema, grammar or forced tool that `body` binds its answer to; `None` where it binds it to
/// none. Equal ones are compiled once by an engine.
pub fn schema(body: &Map<String, Value>) -> Option<u64> {
    let is_free = |value: &Value| value.is_null() || value.get("type").and_then(Value::as_str) == Some("text");
    let mut bound: Vec<(&str, &Value)> =
        SCHEMA_FIELDS.iter().filter_map(|name| Some((*name, body.get(*name)?))).filter(|(_, v)| !is_free(v)).collect();
    // A tool that must be called is a schema; one that may be called is none until it is.
    let forced = |choice: &&Value| choice.is_object() || choice.as_str() == Some("required");
    if let (Some(choice), Some(tools)) = (body.get("tool_choice").filter(forced), body.get("tools")) {
        bound.extend([("tool_choice", choice), ("tools", tools)]);
    }
    let text: Vec<String> = bound.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    (!text.is_empty()).then(|| xxh3_64(text.join("\n").as_bytes()))
}

/// Puts `salt` in front of the first message's text, or of each prompt. A first message without any text gets a text
/// part; a prompt of token ids gets four ids that stand for the salt.
pub fn salt(body: &mut Map<String, Value>, salt: &str) {
    let content =
        body.get_mut("messages").and_then(|messages| messages.get_mut(0)).and_then(|first| first.as_object_mut());
    if let Some(first) = content {
        salt_content(first.entry("content").or_insert(Value::Null), salt);
    } else if let Some(prompt) = body.get_mut("prompt") {
        salt_prompt(prompt, salt);
    }
}

/// A salted copy of `body`.
pub(crate) fn salted(body: &Map<String, Value>, with: &str) -> Map<String, Value> {
    let mut copy = body.clone();
    salt(&mut copy, with);
    copy
}

fn salt_content(content: &mut Value, salt: &str) {
    match content {
        Value::String(text) => text.insert_str(0, &format!("{salt} ")),
        Value::Array(parts) => parts.insert(0, serde_json::json!({"type": "text", "text": salt})),
        other => *other = Value::from(salt),
    }
}

fn salt_prompt(prompt: &mut Value, salt: &str) {
    match prompt {
        Value::String(text) => text.insert_str(0, &format!("{salt} ")),
        Value::Array(items) if items.first().is_some_and(Value::is_u64) => {
            let hash = xxh3_64(salt.as_bytes());
            let ids = (0..SALT_IDS).map(|at| Value::from(512 + ((hash >> (9 * at)) & 511)));
            items.splice(0..0, ids);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| salt_prompt(item, salt)),
        _ => {}
    }
}

enum Part<'a> {
    Text(&'a str),
    Ids(&'a [Value]),
}

fn each_part<'a>(body: &'a Map<String, Value>, visit: &mut dyn FnMut(Part<'a>)) {
    if let Some(messages) = body.get("messages").and_then(Value::as_array) {
        for content in messages.iter().filter_map(|message| message.get("content")) {
            match content {
                Value::String(text) => visit(Part::Text(text)),
                Value::Array(parts) => {
                    parts.iter().filter_map(|part| part.get("text")?.as_str()).for_each(|text| visit(Part::Text(text)));
                }
                _ => {}
            }
        }
    } else if let Some(prompt) = body.get("prompt") {
        each_prompt(prompt, visit);
    }
}

fn each_prompt<'a>(prompt: &'a Value, visit: &mut dyn FnMut(Part<'a>)) {
    match prompt {
        Value::String(text) => visit(Part::Text(text)),
        Value::Array(items) if items.first().is_some_and(Value::is_u64) => visit(Part::Ids(items)),
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::String(text) => visit(Part::Text(text)),
                    Value::Array(ids) => visit(Part::Ids(ids)),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}
