//! What the engine says of itself.

pub mod attachment;
pub mod calendar;
pub mod features;
pub mod hang;
pub mod histogram;
pub mod log;
pub mod machine;
pub mod metrics;
pub mod outputs;
pub(crate) mod sglang;
pub mod spans;
pub mod stats;
pub mod steps;
pub mod version;

mod page;
