//! Tests of the crate through its public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod batches;
mod cases;
mod checks_artefacts;
mod compare_anything;
mod compare_artefacts;
mod compare_calibration;
mod compare_failed;
mod compare_gate;
mod compare_looks;
mod compare_pairs;
mod compare_refusals;
mod compare_runs;
mod compare_single;
mod compare_slices;
mod compare_stages;
mod compare_windows;
mod conventions;
mod differences;
mod examine;
mod figures;
mod first_look;
mod isolate;
mod ledgers;
mod memory_ledgers;
mod onset;
mod rank;
mod rank_costs;
mod signatures;
mod stalls;
mod synthetic;
