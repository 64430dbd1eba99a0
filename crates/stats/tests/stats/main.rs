//! The mathematics against textbook values, naive recomputation and simulation.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod change;
mod coverage;
mod crossing;
mod goodput;
mod max_t;
mod mde;
mod modes;
mod non_negative;
mod paired;
mod period;
mod proportion;
mod quantile;
mod random;
mod ratio;
mod sequential;
mod simplex;
mod single_run;
mod student;
