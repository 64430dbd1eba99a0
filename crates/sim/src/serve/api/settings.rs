//! Sampling settings in a request body.

use super::{
    Endpoint,
    ask::{count, flag, optional},
    error::ApiError,
};
use crate::language::sampling::Sampling;
use serde_json::{Map, Value};

/// Reads the sampling settings of a body for `endpoint`.
pub(super) fn read(body: &Map<String, Value>, endpoint: Endpoint) -> Result<Sampling, ApiError> {
    let number = |name| optional(body, name, "a number", Value::as_f64);
    let ids = optional(body, "stop_token_ids", "a list of token ids", ids)?;
    Ok(Sampling {
        temperature: number("temperature")?,
        top_k: top_k(body)?,
        top_p: number("top_p")?,
        min_p: number("min_p")?,
        repetition_penalty: number("repetition_penalty")?,
        presence_penalty: number("presence_penalty")?,
        frequency_penalty: number("frequency_penalty")?,
        // A negative seed is a seed like any other: its bits are taken.
        seed: optional(body, "seed", "a whole number", Value::as_i64)?.map(|seed| seed as u64),
        stop_token_ids: ids.unwrap_or_default(),
        logprobs: logprobs(body, endpoint)?,
        prompt_logprobs: count(body, "prompt_logprobs")?,
    })
}

/// 0 and -1 both mean all.
fn top_k(body: &Map<String, Value>) -> Result<Option<u32>, ApiError> {
    let read = |value: &Value| match value.as_i64()? {
        -1 => Some(0),
        count => u32::try_from(count).ok(),
    };
    optional(body, "top_k", "a whole number from -1", read)
}

/// A chat asks with two fields, a completion with one.
fn logprobs(body: &Map<String, Value>, endpoint: Endpoint) -> Result<Option<u32>, ApiError> {
    match endpoint {
        Endpoint::Completion => count(body, "logprobs"),
        Endpoint::Chat => {
            let (asked, top) = (flag(body, "logprobs")?, count(body, "top_logprobs")?);
            match (asked, top) {
                (false, Some(1..)) => {
                    Err(ApiError::bad("top_logprobs needs logprobs to be true", Some("top_logprobs")))
                }
                (false, _) => Ok(None),
                (true, top) => Ok(Some(top.unwrap_or(0))),
            }
        }
    }
}

fn ids(value: &Value) -> Option<Vec<u32>> {
    value.as_array()?.iter().map(|id| u32::try_from(id.as_u64()?).ok()).collect()
}
