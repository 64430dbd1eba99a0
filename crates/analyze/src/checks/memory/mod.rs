//! Memory, preemption and start-up.

pub mod constant_preemption;
pub mod multi_node_hang;
