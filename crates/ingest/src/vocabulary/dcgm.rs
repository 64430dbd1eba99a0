//! NVIDIA's DCGM exporter: one series a GPU, in DCGM's units.
//!
//! Left out: fields that state what a GPU is (the snapshot of `nvidia-smi` has them), and counters of errors that the
//! driver corrects by itself.

use super::{Entry, counter, gauge, old};
use firstcheck_model::signal::Signal;

pub(super) const FAMILIES: &[Entry] = &[
    gauge("DCGM_FI_DEV_SM_CLOCK", Signal::GpuSmClock),
    gauge("DCGM_FI_DEV_MEM_CLOCK", Signal::GpuMemoryClock),
    gauge("DCGM_FI_DEV_POWER_USAGE", Signal::GpuPower),
    gauge("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", Signal::GpuPowerLimit),
    old(gauge("DCGM_FI_DEV_POWER_MGMT_LIMIT", Signal::GpuPowerLimit)),
    gauge("DCGM_FI_DEV_GPU_TEMP", Signal::GpuTemperature),
    gauge("DCGM_FI_DEV_GPU_UTIL", Signal::GpuUtilisation),
    gauge("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", Signal::GpuTensorActive),
    gauge("DCGM_FI_PROF_DRAM_ACTIVE", Signal::GpuMemoryActive),
    gauge("DCGM_FI_DEV_FB_USED", Signal::GpuMemoryUsed),
    gauge("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", Signal::GpuThrottleReasons),
    old(gauge("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", Signal::GpuThrottleReasons)),
    counter("DCGM_FI_DEV_POWER_VIOLATION", Signal::GpuPowerThrottled),
    counter("DCGM_FI_DEV_THERMAL_VIOLATION", Signal::GpuThermalThrottled),
    gauge("DCGM_FI_DEV_XID_ERRORS", Signal::GpuXid),
    counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", Signal::GpuPcieReplays),
];
