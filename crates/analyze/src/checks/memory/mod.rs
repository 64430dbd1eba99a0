//! Memory, preemption and start-up.

pub mod constant_preemption;
