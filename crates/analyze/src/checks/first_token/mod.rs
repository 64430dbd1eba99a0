//! The first token is late.

pub mod late_after_template;
