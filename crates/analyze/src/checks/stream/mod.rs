//! Checks of a family: stream.

pub mod unreadable_chunks;
