//! The pages of the container runtime and of the processes in a container.

use super::{Meter, Seen, family};
use crate::{
    emit::metrics::{Family, FamilyKind},
    memory::HostUse,
};
use std::borrow::Cow;

/// One container.
struct Container<'a> {
    seen: Seen<'a>,
    meter: Meter,
    held: HostUse,
}

impl Container<'_> {
    fn cpu_seconds(&self) -> f64 {
        let cpu = self.seen.stats.cpu;
        (cpu.api_ns + cpu.core_ns) as f64 * 1e-9 + self.meter.worker_s * f64::from(self.held.workers)
    }

    fn quota(&self) -> f64 {
        // In microseconds a period of 100 ms; -1 is the kernel's word for none.
        self.seen.config.machine.cpu_quota.map_or(-1.0, |cores| (cores * 1e5).round())
    }
}

type Column = (&'static str, &'static str, FamilyKind, fn(&Container<'_>) -> f64);

const COLUMNS: [Column; 14] = [
    (
        "container_memory_usage_bytes",
        "Current memory usage in bytes, including all memory regardless of when it was accessed",
        FamilyKind::Gauge,
        |container| container.held.working_set() + container.held.page_cache,
    ),
    ("container_memory_working_set_bytes", "Current working set in bytes.", FamilyKind::Gauge, |container| {
        container.held.working_set()
    }),
    ("container_memory_rss", "Size of RSS in bytes.", FamilyKind::Gauge, |container| container.held.anonymous()),
    ("container_memory_swap", "Container swap usage in bytes.", FamilyKind::Gauge, |container| {
        container.held.swapped()
    }),
    ("container_memory_cache", "Number of bytes of page cache memory.", FamilyKind::Gauge, |container| {
        container.held.page_cache + container.held.shared()
    }),
    ("container_memory_total_shmem_bytes", "Size of shared memory in bytes.", FamilyKind::Gauge, |container| {
        container.held.shared()
    }),
    ("container_spec_memory_limit_bytes", "Memory limit for the container.", FamilyKind::Gauge, |container| {
        container.held.limit
    }),
    (
        "container_oom_events_total",
        "Count of out of memory events observed for the container",
        FamilyKind::Counter,
        |container| f64::from(u8::from(container.held.over_limit())),
    ),
    (
        "container_cpu_usage_seconds_total",
        "Cumulative cpu time consumed in seconds.",
        FamilyKind::Counter,
        |container| container.cpu_seconds(),
    ),
    (
        "container_cpu_cfs_periods_total",
        "Number of elapsed enforcement period intervals.",
        FamilyKind::Counter,
        |container| container.meter.periods.round(),
    ),
    (
        "container_cpu_cfs_throttled_periods_total",
        "Number of throttled period intervals.",
        FamilyKind::Counter,
        |container| container.meter.throttled_periods.round(),
    ),
    (
        "container_cpu_cfs_throttled_seconds_total",
        "Total time duration the container has been throttled.",
        FamilyKind::Counter,
        |container| container.meter.throttled_periods * 0.03,
    ),
    ("container_spec_cpu_quota", "CPU quota of the container.", FamilyKind::Gauge, |container| container.quota()),
    ("container_spec_cpu_period", "CPU period of the container.", FamilyKind::Gauge, |_| 1e5),
];

pub(super) fn families<'a>(replicas: &[(Seen<'a>, Meter)]) -> Vec<Family<'a>> {
    let containers: Vec<Container<'a>> = replicas
        .iter()
        .map(|(seen, meter)| Container { seen: *seen, meter: *meter, held: HostUse::of(seen.config, seen.stats) })
        .collect();
    let labels = |container: &Container<'a>| {
        vec![("container", Cow::Borrowed("vllm")), ("pod", Cow::Borrowed(container.seen.name))]
    };
    let mut all: Vec<Family<'a>> = COLUMNS
        .iter()
        .map(|(name, help, kind, value)| {
            let samples = containers.iter().map(|container| (labels(container), value(container)));
            family(*kind, (name, help), samples)
        })
        .collect();
    all.extend(processes(&containers));
    all
}

/// Processes by name, as a process exporter groups them.
fn processes<'a>(containers: &[Container<'a>]) -> [Family<'a>; 2] {
    let cpu = |container: &Container<'a>, name: &str| match name {
        "APIServer" => container.seen.stats.cpu.api_ns as f64 * 1e-9,
        "EngineCore" => container.seen.stats.cpu.core_ns as f64 * 1e-9,
        _ => container.meter.worker_s,
    };
    let (mut seconds, mut bytes) = (Vec::new(), Vec::new());
    for container in containers {
        for (name, memory) in container.held.processes() {
            let labels =
                |name: String| vec![("groupname", Cow::Owned(name)), ("pod", Cow::Borrowed(container.seen.name))];
            seconds.push((labels(name.clone()), cpu(container, &name)));
            for (kind, value) in [("resident", memory.resident()), ("swapped", memory.swapped)] {
                let mut labels = labels(name.clone());
                labels.push(("memtype", Cow::Borrowed(kind)));
                bytes.push((labels, value));
            }
        }
    }
    [
        family(
            FamilyKind::Counter,
            ("namedprocess_namegroup_cpu_seconds_total", "Cpu user and system usage in seconds"),
            seconds.into_iter(),
        ),
        family(
            FamilyKind::Gauge,
            ("namedprocess_namegroup_memory_bytes", "number of bytes of memory in use"),
            bytes.into_iter(),
        ),
    ]
}
