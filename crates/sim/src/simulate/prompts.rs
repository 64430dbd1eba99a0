//! The prompts of a run, as the servers' template rendered them.

use crate::{deployment::Call, emit::attachment::Attachment};
use serde::Serialize;

/// Prompts that are kept: enough to tell what they share, and a run of millions of requests stays small.
pub(super) const MOST: usize = 1_000;

/// A request as a server has it behind its template.
#[derive(Serialize)]
struct Line<'a> {
    request: u32,
    token_ids: &'a [u32],
    /// Namespace in the prefix cache.
    cache_salt: Option<String>,
}

/// Keeps prompts in the order of their sending.
#[derive(Debug, Default)]
pub(super) struct PromptWatch {
    lines: Vec<u8>,
    kept: usize,
}

impl PromptWatch {
    /// Row `request` is handed to a server as `call`.
    pub(super) fn keep(&mut self, request: u32, call: &Call) {
        if self.kept == MOST {
            return;
        }
        let salt = call.features.cache_salt;
        let cache_salt = (salt != 0).then(|| format!("{salt:016x}"));
        let begun = self.lines.len();
        // A row of numbers and a text in memory: nothing of it fails, and half a line would be no line.
        match serde_json::to_writer(&mut self.lines, &Line { request, token_ids: &call.prompt, cache_salt }) {
            Ok(()) => self.lines.push(b'\n'),
            Err(_) => self.lines.truncate(begun),
        }
        self.kept += 1;
    }

    /// The file.
    pub(super) fn into_attachment(self) -> Attachment {
        Attachment { name: "prompts.jsonl".into(), content: self.lines }
    }
}
