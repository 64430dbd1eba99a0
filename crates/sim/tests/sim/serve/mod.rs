//! The engine behind HTTP, over loopback.

mod client;
mod protocol;
mod sampling;
mod time;
