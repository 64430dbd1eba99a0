//! Answers as bytes. A token's chunk is three copies: what stands before its text, the text, and what stands behind.

use super::{
    Endpoint, json_string,
    logprobs::{Columns, prompt_logprobs, write_chat_entry},
};
use crate::{
    FinishReason, Output, StepResult,
    emit::version::Version,
    language::{logprobs::Scored, special},
};
use bytes::{BufMut, BytesMut};
use firstcheck_workload::text;
use std::sync::Arc;

/// The last release known to write `"usage":null` where there is none, and no fingerprint.
const OLD: Version = Version::new(0, 16, u32::MAX);

/// What an answer's writing needs to know.
#[derive(Debug, Clone)]
pub(crate) struct Heading {
    pub(crate) endpoint: Endpoint,
    /// Id without its prefix.
    pub(crate) id: String,
    pub(crate) created: u64,
    pub(crate) model: String,
    pub(crate) version: String,
    pub(crate) prompt_tokens: u32,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) continuous_usage: bool,
    pub(crate) prompt_tokens_details: bool,
    /// Likeliest tokens a place whose log probabilities are asked for.
    pub(crate) logprobs: Option<u32>,
    /// The prompt's token ids, if token ids are asked for.
    pub(crate) token_ids: Option<Arc<[u32]>>,
}

/// Writes one answer.
#[derive(Debug)]
pub(crate) struct Render {
    heading: Heading,
    /// `data: {"id":…,"model":…,` of every chunk.
    common: String,
    /// The same with everything up to the text.
    before_text: String,
    /// The text so far: of an answer that is sent whole, or of the event that is being gathered.
    text: String,
    /// Tokens of that text, if token ids are asked for.
    tokens: Vec<u32>,
    /// Log probabilities of those tokens.
    scored: Vec<Scored>,
    /// Characters of text before the next token.
    offset: u32,
    /// Tokens gathered since the last event, and characters of text before them.
    gathered: u32,
    gathered_offset: u32,
    old: bool,
}

impl Render {
    pub(crate) fn new(heading: Heading) -> Self {
        let (prefix, object) = match (heading.endpoint, heading.stream) {
            (Endpoint::Chat, true) => ("chatcmpl", "chat.completion.chunk"),
            (Endpoint::Chat, false) => ("chatcmpl", "chat.completion"),
            (Endpoint::Completion, _) => ("cmpl", "text_completion"),
        };
        let id = json_string(&format!("{prefix}-{}", heading.id));
        let (created, model) = (heading.created, json_string(&heading.model));
        let data = if heading.stream { "data: " } else { "" };
        let common = format!(r#"{data}{{"id":{id},"object":"{object}","created":{created},"model":{model},"#);
        let open = match heading.endpoint {
            Endpoint::Chat => r#""choices":[{"index":0,"delta":{"content":""#,
            Endpoint::Completion => r#""choices":[{"index":0,"text":""#,
        };
        Self {
            before_text: format!("{common}{open}"),
            common,
            text: String::new(),
            tokens: Vec::new(),
            scored: Vec::new(),
            offset: 0,
            gathered: 0,
            gathered_offset: 0,
            old: Version::read(&heading.version).is_some_and(|version| version <= OLD),
            heading,
        }
    }

    pub(crate) fn streams(&self) -> bool {
        self.heading.stream
    }

    /// Writes a token, and with the last one everything that ends the answer.
    pub(crate) fn token(&mut self, output: &Output, step: &StepResult<'_>, out: &mut BytesMut) {
        // A special token has no text.
        let word = match text::word(output.token) {
            Some(word) => word,
            None if special::name(output.token).is_some() => "",
            None => "unknown",
        };
        let space = if output.position > 0 && !word.is_empty() { " " } else { "" };
        let scored = output.scored.and_then(|place| step.scored.get(place as usize));
        if self.gathered == 0 {
            self.gathered_offset = self.offset;
        }
        self.gathered += 1;
        self.text.push_str(space);
        self.text.push_str(word);
        self.scored.extend(scored.cloned());
        if self.heading.token_ids.is_some() {
            self.tokens.push(output.token);
        }
        self.offset += (space.len() + word.len()) as u32;
        match output.finish {
            Some(reason) if !self.heading.stream => self.whole(output, reason, step, out),
            // An event may carry several tokens.
            finish if self.heading.stream && (output.ends_event || finish.is_some()) => self.chunk(output, out),
            _ => {}
        }
    }

    /// Writes the tokens gathered since the last event as one event, of which `output` is the last.
    fn chunk(&mut self, output: &Output, out: &mut BytesMut) {
        let chat = self.heading.endpoint == Endpoint::Chat;
        let first = output.position + 1 - self.gathered;
        if first == 0 && chat {
            self.role(output, out);
        }
        put(out, [&self.before_text, &self.text, if chat { "\"}" } else { "\"" }]);
        if self.scored.is_empty() {
            put(out, [r#","logprobs":null,"finish_reason":"#]);
        } else {
            let logprobs = self.logprobs(&self.scored, first, self.gathered_offset);
            put(out, [r#","logprobs":"#, &logprobs, r#","finish_reason":"#]);
        }
        match output.finish {
            None => put(out, ["null"]),
            Some(reason) => put(out, ["\"", reason.name(), "\""]),
        }
        if output.finish.is_some() || !chat {
            put(out, [r#","stop_reason":"#, &stop_reason(output)]);
        }
        match (&self.heading.token_ids, chat) {
            (None, true) => put(out, [r#","token_ids":null}]"#]),
            (None, false) => put(out, [r#","prompt_token_ids":null,"token_ids":null}]"#]),
            (Some(_), true) => put(out, [r#","token_ids":"#, &json_ids(&self.tokens), "}]"]),
            (Some(prompt), false) => {
                let prompt = if first == 0 { json_ids(prompt) } else { "null".into() };
                let tokens = json_ids(&self.tokens);
                put(out, [r#","prompt_token_ids":"#, &prompt, r#","token_ids":"#, &tokens, "}]"]);
            }
        }
        if self.heading.continuous_usage {
            put(out, [",\"usage\":", &self.running_usage(output.position + 1, output.cached_tokens)]);
        } else if self.old && self.heading.include_usage && !chat {
            put(out, [",\"usage\":null"]);
        }
        put(out, ["}\n\n"]);
        self.gathered = 0;
        self.text.clear();
        self.tokens.clear();
        self.scored.clear();
        if output.finish.is_some() {
            self.trailer(output, out);
        }
    }

    /// `logprobs` of tokens from `position` on, whose text begins at character `offset`.
    fn logprobs(&self, scored: &[Scored], position: u32, mut offset: u32) -> String {
        let (mut out, places) = (String::new(), position..);
        match self.heading.endpoint {
            Endpoint::Chat => {
                out.push_str(r#"{"content":["#);
                for (place, scored) in places.zip(scored) {
                    out.push_str(if place > position { "," } else { "" });
                    write_chat_entry(scored, place, self.heading.logprobs.unwrap_or(0), &mut out);
                }
                out.push_str("]}");
            }
            Endpoint::Completion => {
                let mut columns = Columns::default();
                for (place, scored) in places.zip(scored) {
                    columns.push(scored, place, offset);
                    let word = text::word(scored.token).map_or(0, str::len) as u32;
                    offset += word + u32::from(place > 0 && word > 0);
                }
                columns.write(&mut out);
            }
        }
        out
    }

    fn role(&self, output: &Output, out: &mut BytesMut) {
        const ROLE: &str =
            r#""choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]"#;
        put(out, [&self.common, ROLE]);
        if self.heading.continuous_usage {
            put(out, [",\"usage\":", &self.running_usage(0, output.cached_tokens)]);
        }
        let prompt = self.heading.token_ids.as_deref().map_or_else(|| "null".into(), json_ids);
        let end = if self.old { "}\n\n" } else { ",\"prompt_text\":null}\n\n" };
        put(out, [r#","prompt_token_ids":"#, &prompt, end]);
    }

    fn trailer(&self, output: &Output, out: &mut BytesMut) {
        if self.heading.include_usage {
            let usage = self.usage(output.position + 1, output.cached_tokens);
            put(out, [&self.common, r#""choices":[],"usage":"#, &usage, &self.system_fingerprint(), "}\n\n"]);
        }
        put(out, ["data: [DONE]\n\n"]);
    }

    fn whole(&self, output: &Output, reason: FinishReason, step: &StepResult<'_>, out: &mut BytesMut) {
        let spoken = step.spoken.iter().find(|spoken| spoken.tag == output.tag);
        let prompt = match spoken.map(|spoken| &spoken.speech) {
            Some(speech) if speech.asked().prompt_logprobs.is_some() => prompt_logprobs(speech.prompt_scored()),
            _ => "null".into(),
        };
        let logprobs = match self.heading.logprobs {
            Some(_) if !self.scored.is_empty() => self.logprobs(&self.scored, 0, 0),
            _ => "null".into(),
        };
        let (ids, prompt_ids) = match &self.heading.token_ids {
            Some(prompt) => (json_ids(&self.tokens), json_ids(prompt)),
            None => ("null".into(), "null".into()),
        };
        let (text, stop) = (json_string(&self.text), stop_reason(output));
        put(out, [&self.common, r#""choices":[{"index":0,"#]);
        match self.heading.endpoint {
            Endpoint::Chat => put(out, [r#""message":{"role":"assistant","content":"#, &text, "}"]),
            Endpoint::Completion => put(out, [r#""text":"#, &text]),
        }
        put(out, [r#","logprobs":"#, &logprobs, r#","finish_reason":""#, reason.name(), r#"","stop_reason":"#, &stop]);
        let usage = self.usage(output.position + 1, output.cached_tokens);
        match self.heading.endpoint {
            Endpoint::Chat => {
                put(out, [r#","token_ids":"#, &ids, "}],\"usage\":", &usage, &self.system_fingerprint()]);
                put(out, [r#","prompt_logprobs":"#, &prompt, r#","prompt_token_ids":"#, &prompt_ids, "}"]);
            }
            Endpoint::Completion => {
                put(out, [r#","token_ids":"#, &ids, r#","prompt_logprobs":"#, &prompt]);
                put(out, [r#","prompt_token_ids":"#, &prompt_ids, "}],\"usage\":", &usage]);
                put(out, [&self.system_fingerprint(), "}"]);
            }
        }
    }

    fn usage(&self, completion: u32, cached: u32) -> String {
        let prompt = self.heading.prompt_tokens;
        let total = u64::from(prompt) + u64::from(completion);
        let details = if self.heading.prompt_tokens_details {
            format!(r#","prompt_tokens_details":{{"cached_tokens":{cached}}}"#)
        } else {
            String::new()
        };
        format!(r#"{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{completion}{details}}}"#)
    }

    /// Usage in the middle of a stream: a chat of a newer release adds a field.
    fn running_usage(&self, completion: u32, cached: u32) -> String {
        let mut usage = self.usage(completion, cached);
        if !self.old && self.heading.endpoint == Endpoint::Chat {
            usage.truncate(usage.len() - 1);
            usage.push_str(r#","completion_tokens_details":null}"#);
        }
        usage
    }

    fn system_fingerprint(&self) -> String {
        match self.old {
            true => String::new(),
            false => {
                let name = json_string(&format!("firstcheck-sim-{}", self.heading.version));
                format!(r#","system_fingerprint":{name}"#)
            }
        }
    }
}

fn json_ids(ids: &[u32]) -> String {
    serde_json::Value::from(ids).to_string()
}

/// The token that ended an answer, unless it was the model's own.
fn stop_reason(output: &Output) -> String {
    match output.finish {
        Some(FinishReason::Stop) if output.token != special::END_OF_TURN => output.token.to_string(),
        _ => "null".into(),
    }
}

fn put<const N: usize>(out: &mut BytesMut, parts: [&str; N]) {
    for part in parts {
        out.put_slice(part.as_bytes());
    }
}
