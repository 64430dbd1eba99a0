//! Answers as bytes. A token's chunk is three copies: what stands before its text, the text, and what stands behind.

use super::{Endpoint, json_string};
use crate::{FinishReason, Output};
use bytes::{BufMut, BytesMut};
use firstcheck_workload::text;

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
}

/// Writes one answer.
#[derive(Debug)]
pub(crate) struct Render {
    heading: Heading,
    /// `data: {"id":…,"model":…,` of every chunk.
    common: String,
    /// The same with everything up to the text.
    before_text: String,
    /// The text so far, of an answer that is sent whole.
    text: String,
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
        Self { before_text: format!("{common}{open}"), common, heading, text: String::new() }
    }

    pub(crate) fn streams(&self) -> bool {
        self.heading.stream
    }

    /// Writes a token, and with the last one everything that ends the answer.
    pub(crate) fn token(&mut self, output: &Output, out: &mut BytesMut) {
        // The token that ends an answer of itself has no text.
        let word = match output.finish {
            Some(FinishReason::Stop) => "",
            _ => text::word(output.token).unwrap_or("unknown"),
        };
        let space = if output.position > 0 && !word.is_empty() { " " } else { "" };
        if self.heading.stream {
            self.chunk(output, space, word, out);
        } else {
            self.text.push_str(space);
            self.text.push_str(word);
            if let Some(reason) = output.finish {
                self.whole(output, reason, out);
            }
        }
    }

    fn chunk(&self, output: &Output, space: &str, word: &str, out: &mut BytesMut) {
        let chat = self.heading.endpoint == Endpoint::Chat;
        if output.position == 0 && chat {
            self.role(output, out);
        }
        put(out, [&self.before_text, space, word, if chat { "\"}" } else { "\"" }]);
        put(out, [r#","logprobs":null,"finish_reason":"#]);
        match output.finish {
            None => put(out, ["null"]),
            Some(reason) => put(out, ["\"", finish_name(reason), "\""]),
        }
        if output.finish.is_some() || !chat {
            put(out, [r#","stop_reason":null"#]);
        }
        put(out, [if chat { r#","token_ids":null}]"# } else { r#","prompt_token_ids":null,"token_ids":null}]"# }]);
        if self.heading.continuous_usage {
            put(out, [",\"usage\":", &self.usage(output.position + 1, output.cached_tokens)]);
        }
        put(out, ["}\n\n"]);
        if output.finish.is_some() {
            self.trailer(output, out);
        }
    }

    fn role(&self, output: &Output, out: &mut BytesMut) {
        const ROLE: &str =
            r#""choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]"#;
        put(out, [&self.common, ROLE]);
        if self.heading.continuous_usage {
            put(out, [",\"usage\":", &self.usage(0, output.cached_tokens)]);
        }
        put(out, [r#","prompt_token_ids":null,"prompt_text":null}"#, "\n\n"]);
    }

    fn trailer(&self, output: &Output, out: &mut BytesMut) {
        if self.heading.include_usage {
            let usage = self.usage(output.position + 1, output.cached_tokens);
            put(out, [&self.common, r#""choices":[],"usage":"#, &usage, ",", &self.system_fingerprint(), "}\n\n"]);
        }
        put(out, ["data: [DONE]\n\n"]);
    }

    fn whole(&self, output: &Output, reason: FinishReason, out: &mut BytesMut) {
        put(out, [&self.common, r#""choices":[{"index":0,"#]);
        let text = json_string(&self.text);
        match self.heading.endpoint {
            Endpoint::Chat => put(out, [r#""message":{"role":"assistant","content":"#, &text, "}"]),
            Endpoint::Completion => put(out, [r#""text":"#, &text]),
        }
        put(out, [r#","logprobs":null,"finish_reason":""#, finish_name(reason), r#"","stop_reason":null}]"#]);
        let usage = self.usage(output.position + 1, output.cached_tokens);
        put(out, [",\"usage\":", &usage, ",", &self.system_fingerprint(), "}"]);
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

    fn system_fingerprint(&self) -> String {
        format!(r#""system_fingerprint":{}"#, json_string(&format!("firstcheck-sim-{}", self.heading.version)))
    }
}

fn finish_name(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::Error => "error",
    }
}

fn put<const N: usize>(out: &mut BytesMut, parts: [&str; N]) {
    for part in parts {
        out.put_slice(part.as_bytes());
    }
}
