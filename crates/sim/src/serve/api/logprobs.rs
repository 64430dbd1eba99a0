//! Log probabilities as the two endpoints write them.

use super::json_string;
use crate::language::{logprobs::Scored, special};
use std::fmt::Write;

/// A token as text of an answer at `position`: words after the first have the space before them.
pub(crate) fn token_text(token: u32, position: u32) -> String {
    let space = if position > 0 { " " } else { "" };
    match firstcheck_workload::text::word(token) {
        Some(word) => format!("{space}{word}"),
        None => special::text(token),
    }
}

/// The entry of a token in `logprobs.content` of a chat, with the `top` likeliest.
pub(crate) fn write_chat_entry(scored: &Scored, position: u32, top: u32, out: &mut String) {
    let entry = |token: u32, logprob: f32| {
        let text = token_text(token, position);
        let bytes = serde_json::Value::from(text.as_bytes().to_vec());
        format!(r#""token":{},"logprob":{},"bytes":{bytes}"#, json_string(&text), Number(logprob))
    };
    let likeliest: Vec<_> = scored.top.iter().take(top as usize).map(|(id, value)| entry(*id, *value)).collect();
    let likeliest = likeliest.iter().map(|entry| format!("{{{entry}}}")).collect::<Vec<_>>().join(",");
    let own = entry(scored.token, scored.logprob);
    let _ = write!(out, r#"{{{own},"top_logprobs":[{likeliest}]}}"#);
}

/// `logprobs` of a completion: four lists that grow together.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    text_offset: Vec<u32>,
    token_logprobs: Vec<f32>,
    tokens: Vec<String>,
    top_logprobs: Vec<Vec<(String, f32)>>,
}

impl Columns {
    /// Adds a token whose text begins at character `offset` of the answer.
    pub(crate) fn push(&mut self, scored: &Scored, position: u32, offset: u32) {
        self.text_offset.push(offset);
        self.token_logprobs.push(scored.logprob);
        self.tokens.push(token_text(scored.token, position));
        let mut top = vec![(token_text(scored.token, position), scored.logprob)];
        let others = scored.top.iter().filter(|(id, _)| *id != scored.token);
        top.extend(others.map(|(id, logprob)| (token_text(*id, position), *logprob)));
        self.top_logprobs.push(top);
    }

    pub(crate) fn write(&self, out: &mut String) {
        let numbers: Vec<_> = self.token_logprobs.iter().map(|value| Number(*value).to_string()).collect();
        let tokens: Vec<_> = self.tokens.iter().map(|token| json_string(token)).collect();
        let top: Vec<_> = self.top_logprobs.iter().map(|top| object(top)).collect();
        let offsets: Vec<_> = self.text_offset.iter().map(u32::to_string).collect();
        let _ = write!(
            out,
            r#"{{"text_offset":[{}],"token_logprobs":[{}],"tokens":[{}],"top_logprobs":[{}]}}"#,
            offsets.join(","),
            numbers.join(","),
            tokens.join(","),
            top.join(",")
        );
    }
}

fn object(entries: &[(String, f32)]) -> String {
    let entries: Vec<_> =
        entries.iter().map(|(text, value)| format!("{}:{}", json_string(text), Number(*value))).collect();
    format!("{{{}}}", entries.join(","))
}

/// Log probabilities of a prompt: null for its first token, then a dictionary by token id a place.
pub(crate) fn prompt_logprobs(scored: &[Scored]) -> String {
    let mut out = String::from("[null");
    for place in scored {
        let own = (place.token, place.logprob);
        let others = place.top.iter().copied().filter(|(id, _)| *id != place.token);
        let entries: Vec<_> = std::iter::once(own)
            .chain(others)
            .map(|(id, value)| {
                let rank = 1 + place.top.iter().filter(|(_, other)| *other > value).count();
                let (text, value) = (json_string(&token_text(id, 0)), Number(value));
                format!(r#""{id}":{{"logprob":{value},"rank":{rank},"decoded_token":{text}}}"#)
            })
            .collect();
        let _ = write!(out, ",{{{}}}", entries.join(","));
    }
    out.push(']');
    out
}

/// A number as JSON: with a decimal point.
struct Number(f32);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", f64::from(self.0))
    }
}
