//! Why an engine refuses its configuration.

/// A configuration that an engine would refuse at its start.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A parameter outside its range.
    #[error("{name} is {value}, but must be {expected}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// One sequence of the greatest length does not fit: it could block the queue for good.
    #[error(
        "one sequence of max_model_len = {max_model_len} needs {needed} KV blocks of {block_size} tokens, but only \
         {usable} are usable: raise num_gpu_blocks or lower max_model_len"
    )]
    PoolTooSmall {
        /// Longest sequence, tokens.
        max_model_len: u32,
        /// Blocks it needs.
        needed: u32,
        /// Tokens a block.
        block_size: u32,
        /// Blocks there are.
        usable: u32,
    },
    /// One sequence of the greatest length does not fit into SGLang's pool: it would wait for good.
    #[error(
        "one sequence of max_model_len = {max_model_len} and a page of {page} do not fit into \
         sglang.max_total_num_tokens = {capacity}: raise it or lower max_model_len"
    )]
    TokenPoolTooSmall {
        /// Longest sequence, tokens.
        max_model_len: u32,
        /// Tokens a page.
        page: u32,
        /// Capacity, tokens.
        capacity: u32,
    },
    /// Without chunked prefill the longest prompt must fit into one step.
    #[error(
        "max_num_batched_tokens = {budget} is less than max_model_len = {max_model_len}: raise it, or set \
         enable_chunked_prefill"
    )]
    BudgetTooSmall {
        /// Token budget of a step.
        budget: u32,
        /// Longest sequence, tokens.
        max_model_len: u32,
    },
    /// A parameter that is fixed when an engine starts.
    #[error("{name} cannot change while the engine runs: it is {before}, asked for {after}; start another engine")]
    Fixed {
        /// The parameter.
        name: &'static str,
        /// Its value.
        before: String,
        /// The value asked for.
        after: String,
    },
}

/// Whether `value` lies within `least` and `most`; what is not a number lies in no range.
pub(crate) fn within<T: PartialOrd + ToString>(
    name: &'static str,
    value: T,
    least: T,
    most: T,
    expected: &'static str,
) -> Result<(), ConfigError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(ConfigError::OutOfRange { name, value: value.to_string(), expected })
}

/// Whether `value` is a time in seconds that a step, a request or a start could take.
pub(crate) fn seconds(name: &'static str, value: f64) -> Result<(), ConfigError> {
    within(name, value, 0.0, 1e6, "0 to 1e6 s")
}

/// Whether `value` is a share.
pub(crate) fn share(name: &'static str, value: f64) -> Result<(), ConfigError> {
    within(name, value, 0.0, 1.0, "0 to 1")
}
