//! KV that came from another engine.

use super::Engine;
use crate::emit::features::Transfers;

impl Engine {
    /// Counts a transfer of KV that it has read, or tried to read: its length, the time to post it, its bytes and
    /// descriptors.
    pub(crate) fn count_transfer(&mut self, failed: bool, duration_ns: i64, post_ns: i64, sizes: (u64, u64)) {
        let transfers = self.stats.transfers.get_or_insert_with(Transfers::default);
        match failed {
            true => transfers.failed += 1,
            false => transfers.observe(duration_ns, post_ns, sizes.0, sizes.1),
        }
    }
}
