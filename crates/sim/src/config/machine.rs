//! The machine under an engine, as its own tools see it: clocks, power and temperature of the GPUs, the CPU's quota.

use super::error::{ConfigError, share, within};
use serde::{Deserialize, Serialize};

/// The machine. These figures are what monitoring shows; what makes an engine slow is
/// [`gpu_slowness`](super::EngineConfig::gpu_slowness) and [`Host::slowness`](super::Host::slowness). A fault sets both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    /// Name of the host.
    pub hostname: Option<String>,
    /// SM clock under load when nothing holds it back, MHz.
    pub sm_clock_mhz: f64,
    /// Share of that clock that is reached.
    pub clock_share: f64,
    /// Memory clock, MHz.
    pub memory_clock_mhz: f64,
    /// Power limit, W.
    pub power_limit_w: f64,
    /// Power at rest, W.
    pub idle_w: f64,
    /// Share of the power limit drawn when every moment is busy.
    pub power_share: f64,
    /// Temperature at rest, °C.
    pub idle_c: f64,
    /// Temperature when every moment is busy, °C.
    pub busy_c: f64,
    /// What holds the clock back.
    pub throttle: Throttle,
    /// The GPU that departs from the others; `None`: all of them do.
    pub gpu: Option<u32>,
    /// Lanes of the PCIe link.
    pub pcie_width: u32,
    /// Last error that the driver reported (XID); 0: none.
    pub xid: u32,
    /// Cores that the container may use; `None`: no quota.
    pub cpu_quota: Option<f64>,
    /// Share of the scheduler's periods in which the container was held back by its quota.
    pub cpu_throttled: f64,
    /// Threads that each worker was told to use (`OMP_NUM_THREADS`).
    pub worker_threads: u32,
}

/// Why a GPU runs below its clock. The first value is the bit of NVML.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Throttle {
    /// It does not.
    #[default]
    None,
    /// The power limit.
    PowerCap,
    /// The temperature, by the driver.
    Thermal,
    /// The temperature, by the board.
    HardwareThermal,
    /// The board's power brake.
    PowerBrake,
}

impl Throttle {
    /// The bit by which NVML names it.
    pub const fn bit(self) -> u32 {
        match self {
            Self::None => 0,
            Self::PowerCap => 0x4,
            Self::Thermal => 0x20,
            Self::HardwareThermal => 0x40,
            Self::PowerBrake => 0x80,
        }
    }
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            hostname: None,
            sm_clock_mhz: 1980.0,
            clock_share: 1.0,
            memory_clock_mhz: 2619.0,
            power_limit_w: 700.0,
            idle_w: 72.0,
            power_share: 0.8,
            idle_c: 31.0,
            busy_c: 62.0,
            throttle: Throttle::None,
            gpu: None,
            pcie_width: 16,
            xid: 0,
            cpu_quota: None,
            cpu_throttled: 0.0,
            worker_threads: 1,
        }
    }
}

impl Machine {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        for (name, value) in [
            ("machine.sm_clock_mhz", self.sm_clock_mhz),
            ("machine.memory_clock_mhz", self.memory_clock_mhz),
            ("machine.power_limit_w", self.power_limit_w),
            ("machine.idle_w", self.idle_w),
        ] {
            within(name, value, 0.0, 1e5, "0 to 100000")?;
        }
        for (name, value) in [("machine.idle_c", self.idle_c), ("machine.busy_c", self.busy_c)] {
            within(name, value, -50.0, 200.0, "-50 to 200 °C")?;
        }
        within("machine.cpu_quota", self.cpu_quota.unwrap_or(1.0), 0.01, 4096.0, "0.01 to 4096 cores")?;
        share("machine.clock_share", self.clock_share)?;
        share("machine.power_share", self.power_share)?;
        share("machine.cpu_throttled", self.cpu_throttled)
    }
}
