//! The nouns through their public interface.

mod distributions;
mod exit_codes;
mod fingerprints;
mod quantities;
mod requests;
mod series;
mod slos;
mod streams;
