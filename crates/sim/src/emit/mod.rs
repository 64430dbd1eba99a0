//! What the engine says of itself.

pub mod histogram;
pub mod metrics;
pub mod stats;

mod page;
