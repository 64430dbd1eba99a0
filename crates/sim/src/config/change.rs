//! What may change while an engine runs.

use super::{ConfigError, EngineConfig};

impl EngineConfig {
    /// Whether a running engine can become `after`: its capacity is fixed when it starts, and so is what it serves.
    ///
    /// # Errors
    /// The first parameter that differs and cannot.
    pub fn can_become(&self, after: &Self) -> Result<(), ConfigError> {
        after.validate()?;
        let fixed = [
            ("model_name", self.model_name.clone(), after.model_name.clone()),
            ("version", self.version.clone(), after.version.clone()),
            ("engine", format!("{:?}", self.engine), format!("{:?}", after.engine)),
            ("num_gpu_blocks", self.num_gpu_blocks.to_string(), after.num_gpu_blocks.to_string()),
            ("block_size", self.block_size.to_string(), after.block_size.to_string()),
            ("max_model_len", self.max_model_len.to_string(), after.max_model_len.to_string()),
            ("enable_prefix_caching", self.enable_prefix_caching.to_string(), after.enable_prefix_caching.to_string()),
            ("model_seed", self.model_seed.to_string(), after.model_seed.to_string()),
            ("parallel.data", format!("{:?}", self.parallel.data), format!("{:?}", after.parallel.data)),
            ("speculation", is_on(&self.speculation), is_on(&after.speculation)),
            ("offload", is_on(&self.offload), is_on(&after.offload)),
            ("encoder", is_on(&self.encoder), is_on(&after.encoder)),
        ];
        match fixed.into_iter().chain(self.sglang.fixed(&after.sglang)).find(|(_, before, after)| before != after) {
            Some((name, before, after)) => Err(ConfigError::Fixed { name, before, after }),
            None => Ok(()),
        }
    }
}

fn is_on<T>(part: &Option<T>) -> String {
    if part.is_some() { "on".into() } else { "off".into() }
}
