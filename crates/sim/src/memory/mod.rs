//! Where memory goes: on each GPU at the start, on the host over the run.

pub mod host;
pub mod ledger;
pub mod start;

pub use host::{HostUse, ProcessMemory};
pub use ledger::Ledger;
pub use start::{Failure, Start, start};

/// Bytes of a GiB.
pub const GIB: f64 = 1_073_741_824.0;
