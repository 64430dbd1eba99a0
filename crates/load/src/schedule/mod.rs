//! When each request is sent: a plan of absolute times and followers, and an alarm that keeps them.

pub(crate) mod alarm;
pub(crate) mod offer;
pub(crate) mod plan;
