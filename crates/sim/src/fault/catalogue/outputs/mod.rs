//! The outputs changed (S30–S38): faults of prompts, settings, numerics, verification and draws.

mod draws;
mod migration;
mod numerics;
mod rollouts;
mod verification;

pub(super) use draws::FAULTS as DRAWS;
pub(super) use migration::FAULTS as MIGRATION;
pub(super) use numerics::FAULTS as NUMERICS;
pub(super) use rollouts::FAULTS as ROLLOUTS;
pub(super) use verification::FAULTS as VERIFICATION;

use crate::fault::{Param, param};

/// A spread of logits.
const fn spread(by_severity: [f64; 3], doc: &'static str) -> Param {
    param("sd", "nats", by_severity, [0.0, 100.0], doc)
}

/// A share.
const fn share(by_severity: [f64; 3], doc: &'static str) -> Param {
    param("share", "", by_severity, [0.0, 1.0], doc)
}
