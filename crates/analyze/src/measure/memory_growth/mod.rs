//! How memory grows over a window: of each process, of the container, of the devices.

mod clocks;
mod holders;
mod trend;

pub use clocks::{Clock, Clocks};
pub use trend::Trend;

use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::Kind,
    measurement::{Measurement, Missing, Source},
    unit::Bytes,
};

/// Who holds memory, and of which kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A process's own memory: anonymous and swapped out. The resident set alone falls when the system swaps.
    Process,
    /// A process's resident set and what is swapped out: its shared memory and mapped files are inside.
    ProcessResident,
    /// A container's own memory, swapped out included.
    Container,
    /// Memory of a container beyond that: shared memory, `tmpfs`, files in use.
    ContainerShared,
    /// Shared memory as one process maps it.
    ProcessShared,
    /// Memory of a device.
    Device,
}

/// One holder's memory over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// Who, and of which kind.
    pub holder: Holder,
    /// Its name.
    pub name: String,
    /// Its trend.
    pub trend: Trend,
    /// What the server did until each sample, where counters tell it.
    pub clocks: Clocks,
    /// The series behind it.
    pub source: Source,
    /// What the container may hold, where a limit is known.
    pub limit: Option<f64>,
}

impl Held {
    /// Growth from the first samples to the last ones.
    pub fn growth(&self) -> Measurement<Bytes> {
        let n = self.trend.bytes.len() as u64;
        Measurement { value: Bytes(self.trend.growth), interval: None, n, source: self.source.clone() }
    }
}

/// Everything of which memory over time is known.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryGrowth {
    /// In the order in which it was read.
    pub held: Vec<Held>,
}

impl MemoryGrowth {
    /// Those of a kind.
    pub fn of(&self, holder: Holder) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(move |held| held.holder == holder)
    }
}

impl Measure for MemoryGrowth {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let held = holders::all(side.evidence);
        if held.is_empty() {
            return Err(Missing::not_exposed(
                "memory of processes, of the container or of the devices over time",
                Kind::ProcessMemory.obtain(),
            ));
        }
        Ok(Self { held })
    }
}
