//! The renderings, through the public interface.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails the test")]

mod facts;
mod first_screen;
mod fixtures;
mod gate;
mod hostile;
mod html;
mod numbers;
mod pages;
mod redact;
