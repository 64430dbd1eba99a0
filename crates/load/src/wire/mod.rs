//! Bytes on a connection: an HTTP/1.1 answer and the events in it, each with the time at which it came.
//!
//! The readers ([`response`], [`chunked`], [`sse`]) do no I/O, so that each byte is known by the read that brought it;
//! they hold no more than [`bounds::Bounds`] allow.

pub mod bounds;
pub mod chunked;
pub mod connection;
pub mod error;
pub mod peer;
pub mod response;
pub mod sse;
pub mod stamp;
pub mod template;
pub mod tls;
