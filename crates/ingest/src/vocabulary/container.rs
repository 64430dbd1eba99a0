//! What a kubelet and cAdvisor say of containers.

use super::{Entry, counter, gauge};
use firstcheck_model::signal::{Labels, Signal};

pub(super) const FAMILIES: &[Entry] = &[
    gauge("container_memory_rss", Signal::ContainerRss),
    gauge("container_memory_swap", Signal::ContainerSwap),
    gauge("container_memory_working_set_bytes", Signal::ContainerWorkingSet),
    gauge("container_spec_memory_limit_bytes", Signal::ContainerLimit),
    counter("container_cpu_cfs_periods_total", Signal::ContainerCpuPeriods),
    counter("container_cpu_cfs_throttled_periods_total", Signal::ContainerCpuThrottled),
];

/// Whether a series is of one container. A control group above it (a pod, a slice, the machine) has no container's name,
/// and the one that holds a pod's network is called `POD`.
pub(super) fn is_one(labels: &Labels) -> bool {
    let stated = ["container", "container_name", "name"].iter().find_map(|label| labels.get(label));
    stated.is_some_and(|name| !name.is_empty() && name != "POD")
}
