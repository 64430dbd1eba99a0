//! The nouns through their public interface.

mod distributions;
mod exit_codes;
mod quantities;
mod requests;
mod series;
mod slos;
mod streams;
