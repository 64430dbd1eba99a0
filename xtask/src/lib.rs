//! What `cargo xtask` does.

pub mod new_check;
