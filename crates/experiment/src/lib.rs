//! Several runs with a purpose: a plan says the next step, the ledger what has happened, the driver does it.
//!
//! A plan is pure: [`plan::pairs::PairPlan::next`] looks at the ledger and names the next step, so resuming is reading
//! the ledger and asking again. Clocks, servers and files are in [`drive`] and [`demo`] alone.

pub mod demo;
pub mod drive;
pub mod error;
pub mod event;
pub mod fidelity;
pub mod ledger;
pub mod plan;
pub mod simulated;

pub use error::Error;
