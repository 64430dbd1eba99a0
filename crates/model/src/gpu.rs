//! The state of GPUs at one moment, as their driver tells it.

use crate::unit::Bytes;
use serde::{Deserialize, Serialize};

/// All GPUs of a host at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpuSnapshot {
    /// When, as the driver wrote it.
    pub timestamp: Option<String>,
    /// Version of the driver.
    pub driver: Option<String>,
    /// Highest CUDA version that the driver supports.
    pub cuda: Option<String>,
    /// The devices, in the driver's order.
    pub gpus: Vec<GpuState>,
}

/// One GPU. A field that the driver does not state (`N/A`) is `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GpuState {
    /// Its PCI address.
    pub bus_id: String,
    /// Product name.
    pub name: Option<String>,
    /// Memory of the device.
    pub memory_total: Option<Bytes>,
    /// Memory in use by all processes.
    pub memory_used: Option<Bytes>,
    /// Memory that the driver keeps for itself.
    pub memory_reserved: Option<Bytes>,
    /// Clock of the multiprocessors, MHz.
    pub sm_clock_mhz: Option<f64>,
    /// Highest clock of the multiprocessors, MHz.
    pub sm_clock_max_mhz: Option<f64>,
    /// Clock of the memory, MHz.
    pub memory_clock_mhz: Option<f64>,
    /// Highest clock of the memory, MHz.
    pub memory_clock_max_mhz: Option<f64>,
    /// Power drawn, watts.
    pub power_watts: Option<f64>,
    /// Limit in force, watts.
    pub power_limit_watts: Option<f64>,
    /// Limit that the board ships with, watts.
    pub power_default_limit_watts: Option<f64>,
    /// Temperature of the chip, °C.
    pub temperature_celsius: Option<f64>,
    /// Share of time in which a kernel ran, 0 to 1.
    pub utilisation: Option<f64>,
    /// Reasons that hold the clocks down now, by the driver's names without their prefix (`sw_power_cap`).
    pub throttled_by: Vec<String>,
    /// PCIe generation in use.
    pub pcie_generation: Option<u32>,
    /// Highest PCIe generation of device and host.
    pub pcie_generation_max: Option<u32>,
    /// PCIe lanes in use.
    pub pcie_lanes: Option<u32>,
    /// Highest number of lanes.
    pub pcie_lanes_max: Option<u32>,
    /// Whether the device is split (MIG).
    pub mig: Option<bool>,
    /// Whether ECC is on.
    pub ecc: Option<bool>,
    /// Errors that ECC could not correct since the driver was loaded.
    pub uncorrected_errors: Option<u64>,
    /// Whether confidential computing is on.
    pub confidential_computing: Option<bool>,
    /// Processes that hold memory of it.
    pub processes: Vec<GpuProcess>,
}

/// A process that holds memory of a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuProcess {
    /// Its number; in a container it may be of another namespace.
    pub pid: u64,
    /// Its name, without arguments.
    pub name: String,
    /// Memory that it holds; `None` where the driver does not tell.
    pub memory: Option<u64>,
}

/// How devices of a host are connected.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GpuTopology {
    /// Names of the devices: GPUs and network adapters.
    pub devices: Vec<String>,
    /// The link from each device to each, by the driver's names (`NV18`, `PIX`, `PHB`, `NODE`, `SYS`); `X` to itself.
    pub links: Vec<Vec<String>>,
    /// NUMA node of each device, where stated.
    pub numa: Vec<Option<u32>>,
}

impl GpuTopology {
    /// The link between two devices.
    pub fn link(&self, from: &str, to: &str) -> Option<&str> {
        let place = |name: &str| self.devices.iter().position(|device| device == name);
        Some(self.links.get(place(from)?)?.get(place(to)?)?.as_str())
    }
}
