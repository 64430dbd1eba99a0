//! The binary over its public interface: arguments, standard output, exit codes, files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test fails the test")]

mod ab;
mod ab_live;
mod artefacts;
mod captured;
mod cases;
mod commands;
mod configuration;
mod confusion;
mod demo;
mod diagnose;
mod exit_codes;
#[path = "../../../report/tests/report/fixtures.rs"]
mod fixtures;
mod harness;
mod help;
mod install;
mod isolate;
mod killed;
mod live;
mod printing;
mod prometheus;
mod readme;
mod results;
mod schema;
mod sim;
mod spans;
mod sweep;
mod workspace;
