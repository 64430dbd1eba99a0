//! Changing fields of a configuration by their names.

use super::Deployment;
use crate::config::EngineConfig;
use serde::{Serialize, de::DeserializeOwned};
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

impl Deployment {
    /// Changes one parameter: `NAME=VALUE`, where NAME is a field of every engine (`max_num_seqs`, `noise.step_sd`), of
    /// one (`replica-2.host_seconds`, `prefill-0.max_num_batched_tokens`), or of another part (`routing.overhead_seconds`, `client.retries`).
    ///
    /// # Errors
    /// A text that is no patch, a replica or field that there is not, a value of another type.
    pub fn set(&mut self, patch: &str) -> Result<(), PatchError> {
        let (head, rest) = patch.split_once('.').unwrap_or(("", patch));
        let names = ["replica-", "prefill-", "decode-", "rank-"];
        if names.iter().any(|name| head.starts_with(name)) {
            let place = (0..self.replicas.len()).find(|place| self.name_of(*place) == head);
            let Some(replica) = place.and_then(|place| self.replicas.get_mut(place)) else {
                let reason = format!("there is no {head}: they count from 0");
                return Err(PatchError::Unfit { patch: patch.into(), reason });
            };
            replica.engine = changed(&replica.engine, rest, patch)?;
            return Ok(());
        }
        match head {
            "routing" => self.routing = changed(&self.routing, rest, patch)?,
            "transfer" => self.transfer = changed(&self.transfer, rest, patch)?,
            "client" => self.client = changed(&self.client, rest, patch)?,
            _ => {
                for replica in &mut self.replicas {
                    replica.engine = patched(&replica.engine, patch)?;
                }
            }
        }
        Ok(())
    }
}

/// `config` with one field changed: `patch` is `NAME=VALUE`, NAME with dots for the fields of a section, VALUE in JSON
/// or a bare word.
///
/// # Errors
/// A text that is no patch, a field that there is not, a value of another type.
pub fn patched(config: &EngineConfig, patch: &str) -> Result<EngineConfig, PatchError> {
    changed(config, patch, patch)
}

/// The same of any part; `patch` is named in errors.
fn changed<T: Serialize + DeserializeOwned>(part: &T, change: &str, patch: &str) -> Result<T, PatchError> {
    let Some((name, text)) = change.split_once('=').filter(|(name, _)| !name.trim().is_empty()) else {
        return Err(PatchError::Form(patch.into()));
    };
    let unfit = |reason: String| PatchError::Unfit { patch: patch.into(), reason };
    let value = serde_json::from_str(text.trim()).unwrap_or_else(|_| Value::from(text.trim()));
    let mut tree = serde_json::to_value(part).map_err(|error| unfit(error.to_string()))?;
    let mut place = &mut tree;
    for field in name.trim().split('.') {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        // An object by the lines above; a field that there is not is refused when the tree is read back.
        let Some(fields) = place.as_object_mut() else { return Err(unfit("no section".into())) };
        place = fields.entry(field.to_owned()).or_insert(Value::Null);
    }
    *place = value;
    serde_json::from_value(tree).map_err(|error| unfit(error.to_string()))
}
