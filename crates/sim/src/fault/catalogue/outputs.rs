//! The outputs changed (S30–S38).

use crate::fault::FaultSpec;

pub(super) const FAULTS: &[FaultSpec] = &[];
