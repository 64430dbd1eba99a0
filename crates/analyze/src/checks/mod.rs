//! The checks: one file each, by family.

pub mod first_token;
pub mod memory;
pub mod stream;
