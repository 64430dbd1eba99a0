//! Offers a workload and records every event of every stream.

pub mod protocol;
pub mod wire;
