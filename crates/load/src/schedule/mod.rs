//! When each request is sent: a plan of absolute times and followers, and what keeps it.

pub(crate) mod agenda;
pub(crate) mod offer;
pub(crate) mod plan;
pub(crate) mod timer;
