//! The page of the GPU exporter.

use super::{Meter, Seen, family};
use crate::{
    config::Machine,
    emit::metrics::{Family, FamilyKind},
    memory::{Ledger, ledger},
};
use std::borrow::Cow;

/// Power at a utilisation, W: what is drawn under load, at most the limit.
pub(super) fn power(machine: &Machine, utilisation: f64) -> f64 {
    let busy = machine.power_limit_w * machine.power_share;
    (machine.idle_w + (busy - machine.idle_w) * utilisation).min(machine.power_limit_w)
}

/// One GPU of one replica.
struct Gpu<'a> {
    seen: Seen<'a>,
    meter: Meter,
    ledger: Ledger,
    pool: f64,
}

impl Gpu<'_> {
    /// The machine as this GPU sees it: one that does not depart from the others is as by default.
    fn machine(&self) -> Machine {
        let machine = &self.seen.config.machine;
        match machine.gpu {
            Some(departing) if departing != self.ledger.gpu => {
                Machine { hostname: machine.hostname.clone(), ..Machine::default() }
            }
            _ => machine.clone(),
        }
    }

    fn clock(&self) -> f64 {
        let machine = self.machine();
        // At rest the clock is low, and nobody throttles.
        if self.meter.utilisation > 0.0 { machine.sm_clock_mhz * machine.clock_share } else { 345.0 }
    }

    fn reasons(&self) -> f64 {
        if self.meter.utilisation > 0.0 { f64::from(self.machine().throttle.bit()) } else { f64::from(0x1u32) }
    }

    fn temperature(&self) -> f64 {
        let machine = self.machine();
        machine.idle_c + (machine.busy_c - machine.idle_c) * self.meter.utilisation
    }

    fn used_mib(&self) -> f64 {
        let ledger = &self.ledger;
        let held = ledger.others + ledger.context + ledger.weights + ledger.non_torch + ledger.graphs + self.pool;
        (held.min(ledger.total) / 1_048_576.0).round()
    }
}

type Column = (&'static str, &'static str, FamilyKind, fn(&Gpu<'_>) -> f64);

const COLUMNS: [Column; 15] = [
    ("DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).", FamilyKind::Gauge, |gpu| gpu.clock()),
    ("DCGM_FI_DEV_MEM_CLOCK", "Memory clock frequency (in MHz).", FamilyKind::Gauge, |gpu| {
        gpu.machine().memory_clock_mhz
    }),
    ("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", FamilyKind::Gauge, |gpu| gpu.temperature().round()),
    ("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", FamilyKind::Gauge, |gpu| {
        power(&gpu.machine(), gpu.meter.utilisation)
    }),
    ("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "Power limit in force (in W).", FamilyKind::Gauge, |gpu| {
        gpu.machine().power_limit_w
    }),
    (
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "Total energy consumption since boot (in mJ).",
        FamilyKind::Counter,
        |gpu| (gpu.meter.energy_j * 1e3).round(),
    ),
    ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "Total number of PCIe retries.", FamilyKind::Counter, |_| 0.0),
    ("DCGM_FI_DEV_PCIE_LINK_WIDTH", "PCIe current link width.", FamilyKind::Gauge, |gpu| {
        f64::from(gpu.machine().pcie_width)
    }),
    ("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", FamilyKind::Gauge, |gpu| {
        (gpu.meter.utilisation * 100.0).round()
    }),
    ("DCGM_FI_DEV_XID_ERRORS", "Value of the last XID error encountered.", FamilyKind::Gauge, |gpu| {
        f64::from(gpu.machine().xid)
    }),
    (
        "DCGM_FI_DEV_POWER_VIOLATION",
        "Throttling duration due to power constraints (in ns).",
        FamilyKind::Counter,
        |gpu| violation(gpu, 0x84),
    ),
    (
        "DCGM_FI_DEV_THERMAL_VIOLATION",
        "Throttling duration due to thermal constraints (in ns).",
        FamilyKind::Counter,
        |gpu| violation(gpu, 0x60),
    ),
    ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "Current clock event reasons (bitmask).", FamilyKind::Gauge, |gpu| {
        gpu.reasons()
    }),
    ("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", FamilyKind::Gauge, |gpu| gpu.used_mib()),
    ("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", FamilyKind::Gauge, |gpu| {
        (gpu.ledger.total / 1_048_576.0).round() - gpu.used_mib()
    }),
];

/// Time below the clock for one of the reasons in `bits`.
fn violation(gpu: &Gpu<'_>, bits: u32) -> f64 {
    if gpu.machine().throttle.bit() & bits != 0 { (gpu.meter.throttled_s * 1e9).round() } else { 0.0 }
}

pub(super) fn families<'a>(replicas: &[(Seen<'a>, Meter)]) -> Vec<Family<'a>> {
    let gpus: Vec<Gpu<'a>> = replicas
        .iter()
        .flat_map(|(seen, meter)| {
            let pool = f64::from(seen.config.num_gpu_blocks) * ledger::block_bytes(seen.config);
            ledger::ledgers(seen.config).into_iter().map(move |ledger| Gpu { seen: *seen, meter: *meter, ledger, pool })
        })
        .collect();
    let labels = |gpu: &Gpu<'a>| {
        let number = gpu.ledger.gpu;
        let host = gpu.seen.config.machine.hostname.as_deref().unwrap_or(gpu.seen.name);
        vec![
            ("gpu", Cow::Owned(number.to_string())),
            ("UUID", Cow::Owned(format!("GPU-{}-{number}", gpu.seen.name))),
            ("device", Cow::Owned(format!("nvidia{number}"))),
            ("modelName", Cow::Borrowed(gpu.seen.config.memory.gpu_name.as_str())),
            ("Hostname", Cow::Borrowed(host)),
            ("pod", Cow::Borrowed(gpu.seen.name)),
        ]
    };
    COLUMNS
        .iter()
        .map(|(name, help, kind, value)| family(*kind, (name, help), gpus.iter().map(|gpu| (labels(gpu), value(gpu)))))
        .collect()
}
