//! The renderings, through the public interface.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test")]

mod first_screen;
mod fixtures;
mod gate;
mod hostile;
mod numbers;
mod pages;
