//! Two numbers that cannot both be right (S39–S44).

use crate::fault::FaultSpec;

pub(super) const FAULTS: &[FaultSpec] = &[];
