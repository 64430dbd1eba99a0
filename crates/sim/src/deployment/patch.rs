//! Changing fields of a configuration by their names.

use crate::config::EngineConfig;
use serde_json::{Map, Value};

/// Why a patch does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// Not `NAME=VALUE`.
    #[error("`{0}` is no NAME=VALUE, as max_num_seqs=64 or noise.step_sd=0.1")]
    Form(String),
    /// The result is no configuration.
    #[error("`{patch}` does not fit: {reason}")]
    Unfit {
        /// The patch.
        patch: String,
        /// What is wrong.
        reason: String,
    },
}

/// `config` with one field changed: `patch` is `NAME=VALUE`, NAME with dots for the fields of a section, VALUE in JSON
/// or a bare word.
///
/// # Errors
/// A text that is no patch, a field that there is not, a value of another type.
pub fn patched(config: &EngineConfig, patch: &str) -> Result<EngineConfig, PatchError> {
    let Some((name, text)) = patch.split_once('=').filter(|(name, _)| !name.trim().is_empty()) else {
        return Err(PatchError::Form(patch.into()));
    };
    let unfit = |reason: String| PatchError::Unfit { patch: patch.into(), reason };
    let value = serde_json::from_str(text.trim()).unwrap_or_else(|_| Value::from(text.trim()));
    let mut tree = serde_json::to_value(config).map_err(|error| unfit(error.to_string()))?;
    let mut place = &mut tree;
    for part in name.trim().split('.') {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        // An object by the lines above; a field that there is not is refused when the tree is read back.
        let Some(fields) = place.as_object_mut() else { return Err(unfit("no section".into())) };
        place = fields.entry(part.to_owned()).or_insert(Value::Null);
    }
    *place = value;
    serde_json::from_value(tree).map_err(|error| unfit(error.to_string()))
}
