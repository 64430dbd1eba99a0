//! `nvidia-smi topo -m`: how the devices of a host are connected.

use crate::terminal_codes::without;
use firstcheck_model::gpu::GpuTopology;
use std::borrow::Cow;

/// Whether text is a matrix of `nvidia-smi topo -m`.
pub fn is_topology(head: &str) -> bool {
    head.lines().any(|line| {
        let line = without(Cow::Borrowed(line));
        line.trim_start().starts_with("GPU0") && line.split_whitespace().count() > 1
    })
}

/// Reads the matrix; `None` where there is none. The header is underlined with terminal codes, which are taken out.
///
/// # Example: two GPUs behind one bridge
/// ```
/// let text = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV18\t0-31\t0\nGPU1\tNV18\t X \t0-31\t0\n";
/// let topology = firstcheck_ingest::host::read_topology(text).ok_or("no matrix")?;
/// assert_eq!(topology.link("GPU0", "GPU1"), Some("NV18"));
/// assert_eq!(topology.numa, [Some(0), Some(0)]);
/// # Ok::<(), &str>(())
/// ```
pub fn read_topology(text: &str) -> Option<GpuTopology> {
    let mut lines = text.lines().map(|line| without(Cow::Borrowed(line)));
    let header = lines.find(|line| line.trim_start().starts_with("GPU0"))?;
    let columns: Vec<&str> = cells(&header);
    let devices: Vec<String> = columns.iter().take_while(|name| is_device(name)).map(|name| (*name).into()).collect();
    let numa_column = columns.iter().position(|name| name.starts_with("NUMA Affinity"));
    let mut topology = GpuTopology { devices, links: Vec::new(), numa: Vec::new() };
    for line in lines {
        let row = cells(&line);
        let Some(name) = row.first() else { continue };
        if topology.links.len() == topology.devices.len() || topology.devices.get(topology.links.len())? != name {
            break;
        }
        let links: Vec<String> = row.iter().skip(1).take(topology.devices.len()).map(|cell| (*cell).into()).collect();
        if links.len() < topology.devices.len() {
            return None;
        }
        let numa = numa_column.and_then(|at| row.get(at + 1)?.parse().ok());
        topology.links.push(links);
        topology.numa.push(numa);
    }
    (topology.links.len() == topology.devices.len()).then_some(topology)
}

fn is_device(name: &str) -> bool {
    ["GPU", "NIC", "mlx"].iter().any(|kind| {
        name.strip_prefix(kind).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '_'))
    })
}

/// Cells are separated by tabs; where they were turned into spaces, by two of them or more.
fn cells(line: &str) -> Vec<&str> {
    let split: Vec<&str> = if line.contains('\t') { line.split('\t').collect() } else { line.split("  ").collect() };
    split.into_iter().map(str::trim).filter(|cell| !cell.is_empty()).collect()
}
