//! What SGLang says of itself: its metrics page and its log, under its own names and in its own words.

mod args;
mod buckets;
mod failure;
mod families;
mod log;

#[cfg(feature = "serve")]
pub(crate) use args::server_info;
pub(crate) use buckets::adopt;
pub(crate) use families::families;
pub(in crate::emit) use log::{Lines, Opened, answered_by};
