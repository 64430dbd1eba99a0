//! Experiments through their public interface.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod attribution;
mod characteristics;
mod confusion;
mod fidelity;
mod incident;
mod isolating;
mod lacking;
mod ledgers;
mod plans;
mod probing;
mod resuming;
mod signatures;
mod sweeping;
