//! The stream stutters (S07–S13).

use crate::fault::FaultSpec;

pub(super) const FAULTS: &[FaultSpec] = &[];
