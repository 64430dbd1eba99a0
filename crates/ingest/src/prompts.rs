//! Files of prompts: one JSON value a line with the prompt's text or the ids of its tokens.

use crate::{
    Error,
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Reading},
    join::Beside,
    json::{Outline, lenient},
};
use firstcheck_model::prompts::Prompts;
use serde_json::Value;

/// Prompts that are kept of one file: a handful tells what they share, a data set would fill memory.
const MOST: usize = 1_000;

pub(crate) static FORMAT: Format = Format {
    id: "prompts",
    group: Group::Workloads,
    name: "prompts",
    versions: "",
    takes: "texts or token ids of the first 1,000 prompts, to be compared with each other; none enters a report",
    recognise,
    action: Action::Read(read),
};

/// Keys under which a line may hold its prompt: ids are what the engine saw, so they come first.
const KEYS: [&str; 4] = ["prompt_token_ids", "token_ids", "input_ids", "prompt"];

fn recognise(head: &Head<'_>) -> Option<Confidence> {
    let first = head.object(&[])?;
    // A request's body names its model, a result has choices or times.
    if ["model", "choices", "messages", "ttft", "latency"].iter().any(|key| first.get(key).is_some()) {
        return None;
    }
    let prompt = KEYS.iter().find_map(|key| first.get(key))?;
    matches!(prompt, Outline::Text(_) | Outline::List(_)).then_some(Confidence::Likely)
}

fn read(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let (mut texts, mut lists, mut rows) = (Vec::new(), Vec::new(), 0);
    while let Some(line) = artefact.next_line(intake) {
        let number = line.number;
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        rows += 1;
        if rows as usize > MOST {
            continue;
        }
        match prompt(line.bytes) {
            Some(Prompt::Text(text)) => texts.push(text),
            Some(Prompt::Tokens(ids)) => lists.push(ids),
            None => intake.unread(Some(number), "no prompt: a line is {\"prompt\": \"…\"} or {\"token_ids\": […]}"),
        }
    }
    let mut notes = Vec::new();
    if rows as usize > MOST {
        notes.push(format!("the first {MOST} of {rows} prompts are looked at"));
    }
    for prompts in [Prompts::Tokens(lists), Prompts::Text(texts)].into_iter().filter(|prompts| !prompts.is_empty()) {
        intake.give(Beside::Prompts(prompts));
    }
    Ok(Reading { rows, unit: "prompts", notes, ..Reading::default() })
}

enum Prompt {
    Text(String),
    Tokens(Vec<u32>),
}

fn prompt(line: &[u8]) -> Option<Prompt> {
    let value: Value = serde_json::from_slice(&lenient(line)).ok()?;
    KEYS.iter().find_map(|key| match value.get(key)? {
        Value::String(text) => Some(Prompt::Text(text.clone())),
        Value::Array(ids) => {
            let ids: Option<Vec<u32>> = ids.iter().map(|id| u32::try_from(id.as_u64()?).ok()).collect();
            ids.map(Prompt::Tokens)
        }
        _ => None,
    })
}
