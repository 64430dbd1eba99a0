//! The checks: one file each, by family.

pub mod memory;
