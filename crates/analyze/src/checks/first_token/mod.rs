//! The first token is late.

pub mod first_token_queues;
pub mod hits_collapse;
pub mod late_after_template;
