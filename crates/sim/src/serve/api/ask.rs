//! What a request body asks.

use super::{Endpoint, error::ApiError, settings};
use crate::language::sampling::Sampling;
use firstcheck_workload::body;
use serde_json::{Map, Value};

/// A request as read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ask {
    pub(crate) prompt: Vec<u32>,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) min_tokens: u32,
    pub(crate) ignore_eos: bool,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) continuous_usage: bool,
    pub(crate) return_token_ids: bool,
    pub(crate) sampling: Sampling,
}

/// What `/v1/completions` generates when the request does not say, by the OpenAI protocol.
const DEFAULT_COMPLETION_TOKENS: u32 = 16;

impl Ask {
    /// Reads a body for `endpoint` of a server of `model`.
    pub(crate) fn read(bytes: &[u8], endpoint: Endpoint, model: &str) -> Result<Self, ApiError> {
        let body: Map<String, Value> = serde_json::from_slice(bytes)
            .map_err(|error| ApiError::bad(format!("JSON decode error: {error}"), None))?;
        if let Some(asked) = optional(&body, "model", "a string", Value::as_str)?.filter(|asked| *asked != model) {
            return Err(ApiError::no_model(asked, model));
        }
        check_prompt(&body, endpoint)?;
        let mut prompt = Vec::new();
        body::write_token_ids(&body, &mut prompt);
        let stream = flag(&body, "stream")?;
        let options = optional(&body, "stream_options", "an object", Value::as_object)?;
        if options.is_some() && !stream {
            return Err(ApiError::bad("stream_options needs stream to be true", Some("stream_options")));
        }
        if count(&body, "n")?.is_some_and(|n| n != 1) {
            return Err(ApiError::bad("this server gives one choice a request: n must be 1", Some("n")));
        }
        let sampling = settings::read(&body, endpoint)?;
        if stream && sampling.prompt_logprobs.is_some() {
            return Err(ApiError::bad(
                "prompt_logprobs are not available when stream is true",
                Some("prompt_logprobs"),
            ));
        }
        let completion_limit = count(&body, "max_completion_tokens")?;
        let max_tokens = completion_limit.or(count(&body, "max_tokens")?);
        let continuous_usage = options.map_or(Ok(false), |options| flag(options, "continuous_usage_stats"))?;
        let include_usage = options.map_or(Ok(false), |options| flag(options, "include_usage"))?;
        Ok(Self {
            prompt,
            max_tokens: match endpoint {
                Endpoint::Chat => max_tokens,
                Endpoint::Completion => max_tokens.or(Some(DEFAULT_COMPLETION_TOKENS)),
            },
            min_tokens: count(&body, "min_tokens")?.unwrap_or(0),
            ignore_eos: flag(&body, "ignore_eos")?,
            stream,
            include_usage,
            continuous_usage: include_usage && continuous_usage,
            return_token_ids: flag(&body, "return_token_ids")?,
            sampling,
        })
    }
}

fn check_prompt(body: &Map<String, Value>, endpoint: Endpoint) -> Result<(), ApiError> {
    let (name, expected) = match endpoint {
        Endpoint::Chat => ("messages", "a list of messages"),
        Endpoint::Completion => ("prompt", "a string or a list of token ids"),
    };
    let well_formed = match (endpoint, body.get(name)) {
        (Endpoint::Chat, Some(Value::Array(messages))) => messages.iter().all(Value::is_object),
        (Endpoint::Completion, Some(Value::String(_))) => true,
        (Endpoint::Completion, Some(Value::Array(ids))) => {
            ids.iter().all(|id| id.as_u64().is_some_and(|id| u32::try_from(id).is_ok()))
        }
        _ => false,
    };
    if well_formed { Ok(()) } else { Err(ApiError::bad(format!("{name} must be {expected}"), Some(name))) }
}

/// A field that may be missing or null, read by `read`.
pub(super) fn optional<'a, T>(
    body: &'a Map<String, Value>,
    name: &'static str,
    expected: &str,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<Option<T>, ApiError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(ApiError::bad(format!("{name} must be {expected}"), Some(name))),
        },
    }
}

pub(super) fn flag(body: &Map<String, Value>, name: &'static str) -> Result<bool, ApiError> {
    Ok(optional(body, name, "true or false", Value::as_bool)?.unwrap_or(false))
}

pub(super) fn count(body: &Map<String, Value>, name: &'static str) -> Result<Option<u32>, ApiError> {
    optional(body, name, "a whole number from 0 to 4294967295", |value| u32::try_from(value.as_u64()?).ok())
}
