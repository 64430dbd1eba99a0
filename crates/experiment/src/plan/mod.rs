//! Plans: pure state machines over the ledger.

pub mod pairs;
