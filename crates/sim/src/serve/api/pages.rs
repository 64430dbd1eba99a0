//! What the server says of itself, beside its metrics.

use super::json_string;
use crate::config::EngineConfig;
use serde_json::{Map, Value};

/// `/v1/models`
pub(crate) fn models(config: &EngineConfig, created: u64) -> String {
    let (name, length) = (json_string(&config.model_name), config.max_model_len);
    format!(
        r#"{{"object":"list","data":[{{"id":{name},"object":"model","created":{created},"owned_by":"firstcheck-sim","root":{name},"parent":null,"max_model_len":{length}}}]}}"#
    )
}

/// `/version`
pub(crate) fn version(config: &EngineConfig) -> String {
    format!(r#"{{"version":{}}}"#, json_string(&config.version))
}

/// `/tokenize`: the ids of the words of a prompt or of messages.
pub(crate) fn tokenize(bytes: &[u8], config: &EngineConfig) -> Result<String, serde_json::Error> {
    let body: Map<String, Value> = serde_json::from_slice(bytes)?;
    let mut tokens = Vec::new();
    firstcheck_workload::body::write_token_ids(&body, &mut tokens);
    let (count, length) = (tokens.len(), config.max_model_len);
    let tokens = serde_json::to_string(&tokens)?;
    Ok(format!(r#"{{"count":{count},"max_model_len":{length},"tokens":{tokens},"token_strs":null}}"#))
}
