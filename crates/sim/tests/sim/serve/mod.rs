//! The engine behind HTTP, over loopback.

mod client;
mod protocol;
mod replicas;
mod sampling;
mod time;
