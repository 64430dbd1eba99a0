//! Tests of the load client through its public interfaces.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod event_loop;
mod hostile;
mod offer;
mod offering;
mod protocol;
mod secure;
mod server;
mod spans;
mod steady;
mod wire;
