//! What happened, on its way to disk: columns of one shard, and the thread that writes the journal.

pub(crate) mod columns;
pub(crate) mod journal;
