//! What is offered to a deployment: arrivals, lengths, prefixes, sessions, prompt text and trace formats; pure and seeded.

pub mod prompt;
pub mod trace;
