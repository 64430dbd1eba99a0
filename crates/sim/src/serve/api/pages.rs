//! What the server says of itself, beside its metrics.

use super::{
    ask::{flag, optional},
    error::ApiError,
    json_string,
};
use crate::{
    config::{EngineConfig, EngineKind},
    language::special,
};
use serde_json::{Map, Value};

/// `/v1/models`
pub(crate) fn models(config: &EngineConfig, created: u64) -> String {
    let (name, length) = (json_string(&config.model_name), config.max_model_len);
    let owner = match config.engine {
        EngineKind::Vllm => "firstcheck-sim",
        EngineKind::Sglang => "sglang",
    };
    format!(
        r#"{{"object":"list","data":[{{"id":{name},"object":"model","created":{created},"owned_by":"{owner}","root":{name},"parent":null,"max_model_len":{length}}}]}}"#
    )
}

/// `/version`
pub(crate) fn version(config: &EngineConfig) -> String {
    format!(r#"{{"version":{}}}"#, json_string(&config.version))
}

/// `/tokenize`: the ids of a prompt or of messages, as the model would get them.
pub(crate) fn tokenize(bytes: &[u8], config: &EngineConfig) -> Result<String, ApiError> {
    let body = read(bytes)?;
    let mut tokens = Vec::new();
    firstcheck_workload::body::write_token_ids(&body, &mut tokens);
    let tokens = config.sampler.prompt.apply(tokens.into());
    let strings = match flag(&body, "return_token_strs")? {
        true => Value::from(tokens.iter().map(|token| special::text(*token)).collect::<Vec<_>>()),
        false => Value::Null,
    };
    let (count, length, tokens) = (tokens.len(), config.max_model_len, Value::from(tokens.to_vec()));
    Ok(format!(r#"{{"count":{count},"max_model_len":{length},"tokens":{tokens},"token_strs":{strings}}}"#))
}

/// `/detokenize`: the text of token ids.
pub(crate) fn detokenize(bytes: &[u8]) -> Result<String, ApiError> {
    let body = read(bytes)?;
    let id = |value: &Value| u32::try_from(value.as_u64()?).ok();
    let ids = |value: &Value| value.as_array()?.iter().map(id).collect::<Option<Vec<u32>>>();
    let Some(tokens) = optional(&body, "tokens", "a list of token ids", ids)? else {
        return Err(ApiError::bad("tokens must be a list of token ids", Some("tokens")));
    };
    let words: Vec<_> = tokens.into_iter().map(special::text).collect();
    Ok(format!(r#"{{"prompt":{}}}"#, json_string(&words.join(" "))))
}

fn read(bytes: &[u8]) -> Result<Map<String, Value>, ApiError> {
    serde_json::from_slice(bytes).map_err(|error| ApiError::bad(format!("JSON decode error: {error}"), None))
}
