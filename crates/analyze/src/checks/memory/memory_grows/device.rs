//! What of a device's memory grew, as the message of the failed allocation tells.

use super::{Cause, Grown, about, size};
use crate::{
    measure::memory_growth::Holder,
    verdict::{Verdict, Weighed},
};
use firstcheck_model::{
    engine_log::{DeviceMemory, EngineLog, Term},
    measurement::{Fact, Missing, Source},
    unit::Bytes,
};

pub(super) fn weigh(verdict: &mut Verdict<Cause>, grown: &Grown<'_>) {
    for cause in [Cause::DeviceFragmentation, Cause::DeviceOutside, Cause::DeviceTensors] {
        verdict.weigh(cause, one(grown, cause));
    }
}

fn one(grown: &Grown<'_>, cause: Cause) -> Result<Weighed, Missing> {
    let Some(device) = grown.device else {
        let known = grown.all.of(Holder::Device).max_by(|a, b| a.trend.growth.total_cmp(&b.trend.growth));
        let known = known.ok_or_else(|| {
            let obtain = "scrape DCGM_FI_DEV_FB_USED, or repeat nvidia-smi -q -x";
            Missing::not_exposed("memory of the device over time", obtain)
        })?;
        let growth = known.trend.growth;
        return Ok(Weighed::Excludes(vec![about(known, growth, format!("{} grew by {}", known.name, size(growth)))]));
    };
    let growth = device.trend.growth;
    let parts = grown.case.side.evidence.logs.iter().rev().find_map(Parts::at_death);
    let parts = parts.ok_or_else(|| {
        Missing::not_exposed(
            "what the framework has reserved and given out on the device",
            "log torch.cuda.memory_allocated() and memory_reserved() an hour apart, or give the log of the failed allocation",
        )
    })?;
    let (bytes, what) = match cause {
        Cause::DeviceFragmentation => (parts.unallocated, "reserved and not given out"),
        Cause::DeviceOutside => (parts.outside, "outside the framework beyond the start's"),
        _ => ((growth - parts.unallocated - parts.outside).max(0.0), "of the growth given out as tensors"),
    };
    let text = format!("{} {what} when memory ran out; the device grew by {}", size(bytes), size(growth));
    let fact = Fact { source: parts.source, ..about(device, bytes, text) };
    Ok(Weighed::by(bytes >= growth / 2.0, vec![fact]))
}

/// Parts of the memory of the process that failed.
struct Parts {
    unallocated: f64,
    /// Beyond what was outside at the start.
    outside: f64,
    source: Source,
}

impl Parts {
    /// As the last failure that tells them has them.
    fn at_death(log: &EngineLog) -> Option<Self> {
        let (memory, line) = log.failures.iter().rev().find_map(|failure| Some((failure.memory?, failure.line)))?;
        let DeviceMemory { own, allocated, unallocated, .. } = memory;
        let (own, allocated, unallocated) = (own?.0, allocated?.0, unallocated?.0);
        let stated = log.memory.iter().rfind(|stated| stated.term == Term::NonTorch);
        let start = stated.map_or(OUTSIDE_AT_START, |stated| stated.bytes.0);
        let outside = (own - allocated - unallocated - start).max(0.0);
        Some(Self { unallocated, outside, source: Source::line(&log.label, line) })
    }
}

/// What a process holds outside the framework from its start on, where the log does not say: its context and libraries,
/// half a GiB to one on current devices.
const OUTSIDE_AT_START: f64 = Bytes::GIB;
