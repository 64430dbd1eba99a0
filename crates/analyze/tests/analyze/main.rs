//! Tests of the crate through its public interface.

mod cases;
mod compare_artefacts;
mod compare_pairs;
mod compare_refusals;
mod compare_runs;
mod compare_single;
mod conventions;
mod synthetic;
