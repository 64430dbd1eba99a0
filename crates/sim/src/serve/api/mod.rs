//! The protocol: what requests ask, how answers and errors are written.

pub(super) mod ask;
pub(super) mod error;
mod logprobs;
pub(super) mod pages;
pub(super) mod render;
mod settings;

/// Which endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completion,
}

/// Text as a JSON string.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
