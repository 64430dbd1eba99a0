//! Several runs with a purpose: a plan says the next step, the ledger what has happened, the driver does it.
//!
//! A plan is pure: [`plan::Plan::next`] looks at the ledger and names the next step, so resuming is reading the ledger and
//! asking again. What a step is taken on is a [`drive::Bench`]: clocks, servers and hooks are behind it.

pub mod ab;
pub mod calibration;
pub mod characteristics;
pub mod confusion;
pub mod demo;
pub mod drive;
pub mod error;
pub mod event;
pub mod fidelity;
pub mod isolate;
pub mod ledger;
pub mod plan;
pub mod prediction;
pub mod probe;
pub mod rig;
pub mod simulated;
pub mod sweep;
pub mod target;

pub use error::Error;
