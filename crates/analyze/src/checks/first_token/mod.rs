//! The first token is late.

pub mod first_token_queues;
pub mod late_after_template;
