//! The crate through its public interface.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helper functions as well")]

mod api;
mod clocks;
mod collect;
mod detection;
mod endpoints;
mod fingerprints;
mod fixture;
mod folders;
mod foreign;
mod hang;
mod history;
mod host;
mod hostile;
mod kv_connectors;
mod log_clock;
mod logs;
mod observed;
mod otlp;
mod pages;
mod real;
mod starts;
mod vocabulary;
mod wrapped;
