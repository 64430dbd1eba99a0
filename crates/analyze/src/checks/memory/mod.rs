//! Memory, preemption and start-up.

pub mod constant_preemption;
pub mod graphs_cost_kv;
pub mod memory_grows;
pub mod multi_node_hang;
pub mod multimodal_oom;
pub mod startup_oom;
