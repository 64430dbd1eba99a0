//! Checks of a family: stream.

pub mod frozen_streams;
pub mod handover_latency;
pub mod periodic_spikes;
pub mod speculation_tail;
pub mod stream_stutter;
pub mod structured_stall;
pub mod unreadable_chunks;

use crate::{measure::server_gaps::ServerGaps, verdict::Weighed};

/// What the server's own count of long gaps says of a delivery that holds events back while the server goes on.
fn delivery(server: &ServerGaps) -> Weighed {
    if server.confirms() { Weighed::Excludes(vec![server.fact()]) } else { Weighed::Supports(vec![server.fact()]) }
}
