//! Answers to requests that were sent one after another, as a list: with their text, so that it can be told what they are
//! made of.

use super::rows::{At, Described, hash};
use crate::{
    Error,
    frame::{Action, Confidence, Format, Group, Head},
};
use firstcheck_model::{
    moment::Moment,
    recording::Recording,
    request::{Fate, Finish, Request, Requests},
    run::{Arrivals, Detail},
};
use serde::Deserialize;
use std::path::Path;

const TOOL: &str = "list of answers";

pub(crate) static FORMAT: Format = Format {
    id: "answers",
    group: Group::Results,
    name: TOOL,
    versions: "a JSON list with ttft_s, total_s, finish, usage and text of each answer",
    takes: "requests one after another, their schema and how much white space an answer has; no text",
    recognise,
    action: Action::Read(|artefact, intake| super::take(artefact, intake, read)),
};

fn recognise(head: &Head<'_>) -> Option<Confidence> {
    Confidence::certain_if(head.object(&["ttft_s", "total_s", "finish"]).is_some())
}

#[derive(Deserialize)]
struct Answer {
    /// Requests of one kind ask for the same.
    #[serde(default)]
    kind: String,
    /// Bytes of the schema asked for, where one was.
    schema_bytes: Option<u64>,
    ttft_s: Option<f64>,
    total_s: f64,
    text: Option<String>,
    finish: Option<String>,
    usage: Option<Usage>,
    err: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<u32>,
    completion_tokens: Option<u32>,
}

/// Reads the list. Nothing says when an answer was asked for but the order: each begins when the one before has ended.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Vec<Recording>, Error> {
    let answers: Vec<Answer> = serde_json::from_slice(bytes).map_err(|error| Error::json(path, TOOL, &error))?;
    let at = At { path, line: None, format: TOOL };
    let (mut requests, mut now_ns) = (Vec::with_capacity(answers.len()), 0i64);
    for (row, answer) in answers.iter().enumerate() {
        let total_ns = at.nanoseconds("the time", row, answer.total_s)?;
        let first = answer.ttft_s.map(|first| at.nanoseconds("the time to first token", row, first)).transpose()?;
        let sent = Moment::at(now_ns);
        now_ns = now_ns.saturating_add(total_ns);
        let usage = answer.usage.as_ref();
        requests.push(Request {
            sent,
            first_token: first.map_or(Moment::NEVER, |first| sent.plus_ns(first)),
            last_token: first.map_or(Moment::NEVER, |_| sent.plus_ns(total_ns)),
            done: sent.plus_ns(total_ns),
            fate: if answer.err.is_some() || answer.finish.is_none() { Fate::Failed } else { Fate::Completed },
            error: answer.err.clone(),
            finish: answer.finish.as_deref().map(Finish::from_name),
            prompt_tokens: usage.and_then(|usage| usage.prompt_tokens),
            output_tokens: usage.and_then(|usage| usage.completion_tokens),
            schema: answer.schema_bytes.map(|bytes| hash([answer.kind.as_str(), bytes.to_string().as_str()])),
            blank_share: answer.text.as_deref().and_then(blank_share),
            ..Request::offered(sent)
        });
    }
    let kinds: Vec<&str> = answers.iter().map(|answer| answer.kind.as_str()).collect();
    let info = Described {
        tool: TOOL,
        version: None,
        content: hash(kinds).wrapping_add(now_ns.unsigned_abs()),
        started_unix_ns: None,
        model: None,
        description: "one after another".into(),
        arrivals: Arrivals::Closed { concurrency: 1 },
        streaming: Some(true),
    }
    .info(Detail::Requests, Vec::new());
    let requests = Requests(requests);
    Ok(vec![Recording { info, requests, events: Vec::new(), signals: Vec::new(), spans: Vec::new() }])
}

/// Share of white space; `None` for an empty text.
fn blank_share(text: &str) -> Option<f32> {
    let (mut all, mut blank) = (0u32, 0u32);
    for character in text.chars() {
        all = all.saturating_add(1);
        blank = blank.saturating_add(u32::from(character.is_whitespace()));
    }
    (all > 0).then(|| (f64::from(blank) / f64::from(all)) as f32)
}
