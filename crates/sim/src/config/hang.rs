//! Where the ranks of an engine stand while it hangs: what stack dumps and flight recorders show.

use super::error::{ConfigError, within};
use serde::{Deserialize, Serialize};

/// An engine that hangs in, or before, a collective of its ranks. It only says where the ranks stand; what stops the
/// engine is [`Host::frozen`](super::Host::frozen), which a fault sets with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hang {
    /// Why it hangs.
    pub cause: HangCause,
    /// Ranks.
    pub ranks: u32,
    /// The rank that departs from the others, where one does.
    pub rank: u32,
    /// Number of the collective in which the ranks stand; the group's first is 1.
    pub sequence: u64,
    /// Elements of that collective.
    pub elements: u64,
    /// Whether all dumps could be taken: a rank in this list left none.
    pub missing: Vec<u32>,
}

/// Why ranks do not get on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HangCause {
    /// All stand in the same collective, and no data moves: the network.
    #[default]
    Transport,
    /// One rank waits for a lock in host code and never enters the collective.
    Lock,
    /// One rank compiles a kernel; it is busy, not stuck.
    Compile,
    /// One rank stands in another collective: it skipped one.
    Skipped,
    /// One rank entered with another number of elements.
    OtherSize,
    /// All ranks of a broadcast receive, and none sends.
    NoSource,
    /// The workers wait for a message that the core believes it has sent.
    Queue,
    /// One rank's process is gone.
    Gone,
}

impl Default for Hang {
    fn default() -> Self {
        Self { cause: HangCause::default(), ranks: 2, rank: 1, sequence: 1, elements: 33_554_432, missing: Vec::new() }
    }
}

impl Hang {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        within("hang.ranks", self.ranks, 2, 1024, "2 to 1024")?;
        within("hang.rank", self.rank, 0, self.ranks - 1, "less than hang.ranks")?;
        within("hang.sequence", self.sequence, 1, u64::MAX / 2, "1 or more")
    }

    /// Whether that rank is the one that departs from the others.
    pub(crate) fn departs(&self, rank: u32) -> bool {
        let one = matches!(
            self.cause,
            HangCause::Lock | HangCause::Compile | HangCause::Skipped | HangCause::OtherSize | HangCause::Gone
        );
        one && rank == self.rank
    }
}
