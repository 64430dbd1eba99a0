//! Files of prompts: one JSON value a line with the prompt's text or the ids of its tokens, and where it is known with
//! the row of its request (`request`) and its namespace in the prefix cache (`cache_salt`, `null` for none).

use crate::{
    Error,
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Reading},
    join::Beside,
    json::{Outline, lenient},
};
use firstcheck_model::prompts::{Content, Prompts};
use serde_json::Value;
use std::collections::HashMap;

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
    let (mut texts, mut lists, mut rows) = (Gathered::default(), Gathered::default(), 0);
    let mut numbers = Numbers::default();
    while let Some(line) = artefact.next_line(intake) {
        let number = line.number;
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        rows += 1;
        if rows as usize > MOST {
            continue;
        }
        let value: Option<Value> = serde_json::from_slice(&lenient(line.bytes)).ok();
        match value.as_ref().and_then(|value| Some((value, prompt(value)?))) {
            Some((value, Prompt::Text(text))) => texts.push(text, value, &mut numbers),
            Some((value, Prompt::Tokens(ids))) => lists.push(ids, value, &mut numbers),
            None => intake.unread(Some(number), "no prompt: a line is {\"prompt\": \"…\"} or {\"token_ids\": […]}"),
        }
    }
    let mut notes = Vec::new();
    if rows as usize > MOST {
        notes.push(format!("the first {MOST} of {rows} prompts are looked at"));
    }
    let all = [lists.into_prompts(Content::Tokens), texts.into_prompts(Content::Text)];
    for prompts in all.into_iter().filter(|prompts| !prompts.is_empty()) {
        intake.give(Beside::Prompts(prompts));
    }
    Ok(Reading { rows, unit: "prompts", notes, ..Reading::default() })
}

enum Prompt {
    Text(String),
    Tokens(Vec<u32>),
}

fn prompt(value: &Value) -> Option<Prompt> {
    KEYS.iter().find_map(|key| match value.get(key)? {
        Value::String(text) => Some(Prompt::Text(text.clone())),
        Value::Array(ids) => {
            let ids: Option<Vec<u32>> = ids.iter().map(|id| u32::try_from(id.as_u64()?).ok()).collect();
            ids.map(Prompt::Tokens)
        }
        _ => None,
    })
}

/// Salts by the order in which they come: a salt may be a secret, that two are the same is not.
#[derive(Default)]
struct Numbers(HashMap<String, u32>);

impl Numbers {
    /// `None`: the line does not tell; `Some(None)`: it has no namespace of its own.
    fn of(&mut self, line: &Value) -> Option<Option<u32>> {
        let next = u32::try_from(self.0.len()).ok()?;
        match line.get("cache_salt")? {
            Value::Null => Some(None),
            salt => Some(Some(*self.0.entry(salt.to_string()).or_insert(next))),
        }
    }
}

/// Prompts of one kind with what their lines tell beside.
struct Gathered<T> {
    prompts: Vec<T>,
    /// `None`: a line did not tell.
    namespaces: Option<Vec<Option<u32>>>,
    requests: Option<Vec<u32>>,
}

impl<T> Default for Gathered<T> {
    fn default() -> Self {
        Self { prompts: Vec::new(), namespaces: Some(Vec::new()), requests: Some(Vec::new()) }
    }
}

impl<T> Gathered<T> {
    fn push(&mut self, prompt: T, line: &Value, numbers: &mut Numbers) {
        self.prompts.push(prompt);
        extend(&mut self.namespaces, numbers.of(line));
        let row = line.get("request").and_then(Value::as_u64).and_then(|row| u32::try_from(row).ok());
        extend(&mut self.requests, row);
    }

    fn into_prompts(self, content: impl Fn(Vec<T>) -> Content) -> Prompts {
        Prompts { content: content(self.prompts), namespaces: self.namespaces, requests: self.requests }
    }
}

/// What one line does not tell is told of none.
fn extend<T>(all: &mut Option<Vec<T>>, one: Option<T>) {
    *all = all.take().zip(one).map(|(mut all, one)| {
        all.push(one);
        all
    });
}
