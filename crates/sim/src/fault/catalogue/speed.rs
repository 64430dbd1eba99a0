//! Slower than the arithmetic says (S20–S29).

use crate::fault::{FaultSpec, Param};

pub(super) const FAULTS: &[FaultSpec] = &[FaultSpec {
    slug: "slow-replica",
    symptom: "S29",
    cause: "host-slow",
    acts_in: "host of one replica",
    doc: "the host of one replica takes longer for each step than that of its peers",
    params: &[
        Param {
            name: "replica",
            unit: "",
            by_severity: [0.0, 0.0, 0.0],
            range: [0.0, 1023.0],
            doc: "which replica, by its number; beyond the last one: the last one",
        },
        Param {
            name: "host_ms",
            unit: "ms",
            by_severity: [2.0, 5.0, 15.0],
            range: [0.0, 10_000.0],
            doc: "further host time of each step",
        },
    ],
    apply: |values, rig| {
        let last = rig.deployment.replicas.len().saturating_sub(1);
        if let Some(replica) = rig.deployment.replicas.get_mut((values.count("replica") as usize).min(last)) {
            replica.engine.host_seconds += values.get("host_ms") * 1e-3;
        }
    },
}];
