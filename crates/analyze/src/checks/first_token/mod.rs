//! The first token is late.

pub mod first_token_queues;
pub mod hits_collapse;
pub mod late_after_template;
pub mod lpm_never_recovers;
pub mod ranks_wait;
pub mod tier_hits_late;
