//! What only a bug does.

use super::error::{ConfigError, share, within};
use serde::{Deserialize, Serialize};

/// Bugs of an engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Defects {
    /// KV blocks that an ended request leaves referenced for good, on average.
    pub leaked_blocks: f64,
    /// Whether new blocks are no longer entered into the prefix index; those in it are found until they are evicted.
    pub frozen_prefix_index: bool,
    /// Share of lookups that find nothing although the blocks are there.
    pub failed_lookups: f64,
    /// A number that, when it changes, empties the prefix index once.
    pub cache_epoch: u64,
    /// Whether the head of the queue is never admitted, and nobody overtakes it.
    pub stuck_head: bool,
    /// Steps between two bursts of preemptions that nothing calls for; 0: none.
    pub preempt_every_steps: u32,
    /// Requests thrown out in each such burst.
    pub preempt_requests: u32,
    /// Whether the engine's core has died: all its requests fail, and new ones are refused. Back to false, it has
    /// started anew, with nothing cached.
    pub dead: bool,
}

impl Defects {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        within("defects.leaked_blocks", self.leaked_blocks, 0.0, 1e6, "0 to 1e6")?;
        share("defects.failed_lookups", self.failed_lookups)
    }
}
