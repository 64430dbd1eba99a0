//! From what a driver says of its devices.

use super::redact::{Place, state};
use firstcheck_model::{
    fingerprint::{Fingerprint, Group, field},
    gpu::{GpuSnapshot, GpuState, GpuTopology},
    unit::Bytes,
};
use std::collections::{BTreeMap, BTreeSet};

/// What a snapshot states: driver, devices, clocks, limits, who else is on them.
pub fn from_gpus(snapshot: &GpuSnapshot, from: &str, into: &mut Fingerprint) {
    let place = Place { from, line: None };
    for (name, value) in [("driver_version", &snapshot.driver), ("cuda_driver_version", &snapshot.cuda)] {
        if let Some(value) = value {
            state(into, Group::Software, name, value, place);
        }
    }
    state(into, Group::Hardware, field::GPU_COUNT, &snapshot.gpus.len().to_string(), place);
    type Say = fn(&GpuState) -> Option<String>;
    let fields: [(&str, Say); 18] = [
        (field::GPU_MODEL, |gpu| gpu.name.clone()),
        ("gpu_memory", |gpu| gpu.memory_total.map(mebibytes)),
        ("gpu_memory_used", |gpu| gpu.memory_used.map(mebibytes)),
        ("gpu_memory_reserved", |gpu| gpu.memory_reserved.map(mebibytes)),
        ("gpu_sm_clock_mhz", |gpu| gpu.sm_clock_mhz.map(number)),
        ("gpu_sm_clock_max_mhz", |gpu| gpu.sm_clock_max_mhz.map(number)),
        ("gpu_memory_clock_mhz", |gpu| gpu.memory_clock_mhz.map(number)),
        ("gpu_memory_clock_max_mhz", |gpu| gpu.memory_clock_max_mhz.map(number)),
        ("gpu_power_watts", |gpu| gpu.power_watts.map(number)),
        ("gpu_power_limit_watts", |gpu| gpu.power_limit_watts.map(number)),
        ("gpu_throttled_by", |gpu| (!gpu.throttled_by.is_empty()).then(|| gpu.throttled_by.join(" "))),
        ("gpu_pcie", pcie),
        ("gpu_mig", |gpu| gpu.mig.map(|on| on.to_string())),
        ("gpu_ecc", |gpu| gpu.ecc.map(|on| on.to_string())),
        ("gpu_uncorrected_errors", |gpu| gpu.uncorrected_errors.map(|errors| errors.to_string())),
        ("gpu_confidential_computing", |gpu| gpu.confidential_computing.map(|on| on.to_string())),
        ("gpu_utilisation", |gpu| gpu.utilisation.map(number)),
        ("gpu_processes", |gpu| Some(gpu.processes.len().to_string())),
    ];
    for (name, say) in fields {
        if let Some(value) = over_all(snapshot, say) {
            state(into, Group::Hardware, name, &value, place);
        }
    }
    if let Some(tenants) = co_tenants(snapshot) {
        state(into, Group::Hardware, "gpu_co_tenants", &tenants, place);
    }
}

/// What a topology states: the links between devices, and their NUMA nodes.
pub fn from_topology(topology: &GpuTopology, from: &str, into: &mut Fingerprint) {
    let place = Place { from, line: None };
    let is_gpu = |at: usize| topology.devices.get(at).is_some_and(|name| name.starts_with("GPU"));
    let mut links: BTreeMap<&str, usize> = BTreeMap::new();
    for (row, cells) in topology.links.iter().enumerate().filter(|(row, _)| is_gpu(*row)) {
        for link in
            cells.iter().enumerate().filter(|(column, _)| *column > row && is_gpu(*column)).map(|(_, link)| link)
        {
            *links.entry(link).or_default() += 1;
        }
    }
    if !links.is_empty() {
        state(into, Group::Hardware, "gpu_links", &counted(links.into_iter()), place);
    }
    let nodes: BTreeSet<u32> = topology.numa.iter().flatten().copied().collect();
    if !nodes.is_empty() {
        let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
        state(into, Group::Hardware, "gpu_numa", &nodes.join(" "), place);
    }
}

/// A field over all devices: one value where they agree, else each with how many have it; `None` where none states it.
fn over_all(snapshot: &GpuSnapshot, say: fn(&GpuState) -> Option<String>) -> Option<String> {
    let mut values: BTreeMap<String, usize> = BTreeMap::new();
    for value in snapshot.gpus.iter().filter_map(say) {
        *values.entry(value).or_default() += 1;
    }
    match values.len() {
        0 => None,
        1 => values.into_keys().next(),
        _ => Some(counted(values.iter().map(|(value, times)| (value.as_str(), *times)))),
    }
}

/// `NV18 × 28, SYS × 4`
fn counted<'v>(values: impl Iterator<Item = (&'v str, usize)>) -> String {
    values.map(|(value, times)| format!("{value} × {times}")).collect::<Vec<_>>().join(", ")
}

/// Programs that hold memory of a device and are no engine's.
fn co_tenants(snapshot: &GpuSnapshot) -> Option<String> {
    const ENGINES: [&str; 5] = ["vllm", "VLLM", "sglang", "trtllm", "python"];
    let processes = snapshot.gpus.iter().flat_map(|gpu| &gpu.processes);
    let foreign = processes.filter(|process| !ENGINES.iter().any(|engine| process.name.contains(engine)));
    let names: BTreeSet<&str> = foreign
        .map(|process| process.name.rsplit('/').next().unwrap_or(&process.name))
        .filter(|n| !n.is_empty())
        .collect();
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(" "))
}

fn pcie(gpu: &GpuState) -> Option<String> {
    Some(format!("gen {} × {}", gpu.pcie_generation_max?, gpu.pcie_lanes?))
}

fn mebibytes(bytes: Bytes) -> String {
    format!("{:.0} MiB", bytes.0 / Bytes::MIB)
}

fn number(value: f64) -> String {
    value.to_string()
}
