//! `nvidia-smi -q -x`: the state of all GPUs as XML.
//!
//! Names of elements changed with the driver: `power_readings` became `gpu_power_readings`, `power_limit` became
//! `current_power_limit`, `clocks_throttle_reasons` became `clocks_event_reasons`. Both are read.

use crate::error::Error;
use firstcheck_model::{
    gpu::{GpuProcess, GpuSnapshot, GpuState},
    unit::Bytes,
};
use roxmltree::{Document, Node, ParsingOptions};
use std::path::Path;

const FORMAT: &str = "output of nvidia-smi -q -x";

/// Elements of a document at most: a host of 16 GPUs with 100 processes each has some 50,000.
const MOST_NODES: u32 = 2_000_000;

/// Whether text begins as `nvidia-smi -q -x` does.
pub fn is_nvidia_smi(head: &str) -> bool {
    head.contains("<nvidia_smi_log")
}

/// Reads one snapshot. `path` names it in errors.
///
/// # Errors
/// Malformed XML, or XML without `nvidia_smi_log`.
pub fn read_nvidia_smi(path: &Path, text: &str) -> Result<GpuSnapshot, Error> {
    // The document declares its type, which the parser reads only when asked to.
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| Error::malformed(path, u64::from(error.pos().row), FORMAT, error.to_string()))?;
    let root = document.root_element();
    if !root.has_tag_name("nvidia_smi_log") {
        return Err(Error::malformed(path, 1, FORMAT, "its root is not nvidia_smi_log"));
    }
    Ok(GpuSnapshot {
        timestamp: text_of(root, &["timestamp"]),
        driver: text_of(root, &["driver_version"]),
        cuda: text_of(root, &["cuda_version"]),
        gpus: root.children().filter(|node| node.has_tag_name("gpu")).map(gpu).collect(),
    })
}

fn gpu(node: Node<'_, '_>) -> GpuState {
    let number = |ways: &[&[&str]]| ways.iter().find_map(|way| number_of(node, way));
    let whole = |way: &[&str]| number_of(node, way).filter(|n| (0.0..1e9).contains(n)).map(|n| n as u32);
    let memory = |name| text_of(node, &["fb_memory_usage", name]).and_then(|text| bytes(&text));
    let says = |way: &[&str], yes: &str, no: &str| match text_of(node, way)?.to_ascii_lowercase() {
        text if text == yes => Some(true),
        text if text == no => Some(false),
        _ => None,
    };
    GpuState {
        bus_id: node.attribute("id").unwrap_or_default().to_owned(),
        name: text_of(node, &["product_name"]),
        memory_total: memory("total"),
        memory_used: memory("used"),
        memory_reserved: memory("reserved"),
        sm_clock_mhz: number(&[&["clocks", "sm_clock"]]),
        sm_clock_max_mhz: number(&[&["max_clocks", "sm_clock"]]),
        memory_clock_mhz: number(&[&["clocks", "mem_clock"]]),
        memory_clock_max_mhz: number(&[&["max_clocks", "mem_clock"]]),
        power_watts: number(&[
            &["gpu_power_readings", "instant_power_draw"],
            &["gpu_power_readings", "power_draw"],
            &["gpu_power_readings", "average_power_draw"],
            &["power_readings", "power_draw"],
        ]),
        power_limit_watts: number(&[
            &["gpu_power_readings", "current_power_limit"],
            &["gpu_power_readings", "power_limit"],
            &["power_readings", "power_limit"],
        ]),
        power_default_limit_watts: number(&[
            &["gpu_power_readings", "default_power_limit"],
            &["power_readings", "default_power_limit"],
        ]),
        temperature_celsius: number(&[&["temperature", "gpu_temp"]]),
        utilisation: number(&[&["utilization", "gpu_util"]]).map(|percent| percent / 100.0),
        throttled_by: throttled_by(node),
        pcie_generation: whole(&["pci", "pci_gpu_link_info", "pcie_gen", "current_link_gen"]),
        pcie_generation_max: whole(&["pci", "pci_gpu_link_info", "pcie_gen", "max_link_gen"]),
        pcie_lanes: whole(&["pci", "pci_gpu_link_info", "link_widths", "current_link_width"]),
        pcie_lanes_max: whole(&["pci", "pci_gpu_link_info", "link_widths", "max_link_width"]),
        mig: says(&["mig_mode", "current_mig"], "enabled", "disabled"),
        ecc: says(&["ecc_mode", "current_ecc"], "enabled", "disabled"),
        uncorrected_errors: uncorrected(node),
        confidential_computing: text_of(node, &["cc_protected_memory_usage", "total"])
            .and_then(|text| bytes(&text))
            .map(|protected| protected.0 > 0.0),
        processes: find(node, &["processes"])
            .into_iter()
            .flat_map(|all| all.children().filter(|node| node.has_tag_name("process_info")))
            .filter_map(process)
            .collect(),
    }
}

/// The element that a way of names leads to.
fn find<'a, 'd>(node: Node<'a, 'd>, way: &[&str]) -> Option<Node<'a, 'd>> {
    way.iter().try_fold(node, |node, name| node.children().find(|child| child.has_tag_name(*name)))
}

/// Its text, unless the driver does not state it.
fn text_of(node: Node<'_, '_>, way: &[&str]) -> Option<String> {
    let text = find(node, way)?.text()?.trim();
    (!text.is_empty() && !matches!(text, "N/A" | "[N/A]" | "Unknown Error" | "Insufficient Permissions" | "None"))
        .then(|| text.to_owned())
}

/// The number that an element begins with: `1980 MHz`, `16x`.
fn number_of(node: Node<'_, '_>, way: &[&str]) -> Option<f64> {
    let text = text_of(node, way)?;
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[..end].parse().ok()
}

/// `81559 MiB`
fn bytes(text: &str) -> Option<Bytes> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit.trim() {
        "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => Bytes::MIB,
        "GiB" => Bytes::GIB,
        _ => return None,
    };
    Some(Bytes(number.parse::<f64>().ok()? * scale))
}

/// Reasons marked active, without those that mean no harm: idle, and clocks set by the user.
fn throttled_by(node: Node<'_, '_>) -> Vec<String> {
    let groups = ["clocks_event_reasons", "clocks_throttle_reasons"];
    let reasons = groups.iter().filter_map(|name| find(node, &[name])).flat_map(|group| group.children());
    let active = reasons.filter(|reason| reason.text().is_some_and(|text| text.trim() == "Active"));
    active
        .filter_map(|reason| {
            let name = reason.tag_name().name();
            let name =
                name.strip_prefix("clocks_event_reason_").or_else(|| name.strip_prefix("clocks_throttle_reason_"))?;
            (!matches!(name, "gpu_idle")).then(|| name.to_owned())
        })
        .collect()
}

/// Uncorrected errors since the driver was loaded, over the parts of the chip that count them.
fn uncorrected(node: Node<'_, '_>) -> Option<u64> {
    let volatile = find(node, &["ecc_errors", "volatile"])?;
    let counts = volatile.descendants().filter(|part| part.tag_name().name().contains("uncorrectable"));
    let counts: Vec<u64> = counts.filter_map(|part| part.text()?.trim().parse().ok()).collect();
    counts.into_iter().reduce(u64::saturating_add)
}

fn process(node: Node<'_, '_>) -> Option<GpuProcess> {
    let name = text_of(node, &["process_name"]).unwrap_or_default();
    Some(GpuProcess {
        pid: text_of(node, &["pid"])?.parse().ok()?,
        // A command line may carry keys: only the program is kept.
        name: name.split_whitespace().next().unwrap_or_default().to_owned(),
        memory: text_of(node, &["used_memory"]).and_then(|text| bytes(&text)).map(|bytes| bytes.0 as u64),
    })
}
