//! Host memory of the engine's processes over a run.

use super::{GIB, ledger::Shape};
use crate::{
    config::{EngineConfig, Leak, LeakKind, Leaker},
    emit::stats::Stats,
};

/// Memory of a process as the kernel accounts it, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProcessMemory {
    /// Of the process alone, in memory.
    pub anonymous: f64,
    /// The same, swapped out.
    pub swapped: f64,
    /// Shared with other processes.
    pub shared: f64,
    /// Mapped files, in memory.
    pub file: f64,
}

impl ProcessMemory {
    /// The resident set.
    pub fn resident(&self) -> f64 {
        self.anonymous + self.shared + self.file
    }
}

/// Host memory of an engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostUse {
    /// The API server.
    pub api: ProcessMemory,
    /// The engine's core.
    pub core: ProcessMemory,
    /// Each worker.
    pub worker: ProcessMemory,
    /// Workers.
    pub workers: u32,
    /// Page cache charged to the container.
    pub page_cache: f64,
    /// What the container may use.
    pub limit: f64,
}

/// Bytes of libraries that each process maps.
const LIBRARIES: f64 = 0.35 * GIB;

impl HostUse {
    /// What the processes hold when the engine's latest step has ended: a function of what it has done, as its
    /// statistics have it.
    pub fn of(config: &EngineConfig, stats: &Stats) -> Self {
        let mut held = Self::at_rest(config);
        let leak = &config.memory.host.leak;
        let grown = grown(leak, stats.leaked.bytes);
        let leaking = match leak.process {
            Leaker::Api => &mut held.api,
            Leaker::Core => &mut held.core,
            Leaker::Worker => &mut held.worker,
        };
        match leak.kind {
            LeakKind::Anonymous => {
                leaking.swapped += grown * leak.swapped;
                leaking.anonymous += grown * (1.0 - leak.swapped);
            }
            LeakKind::Shared => leaking.shared += grown,
            LeakKind::File => held.page_cache += grown,
        }
        held
    }

    /// What the processes hold before the first request.
    pub fn at_rest(config: &EngineConfig) -> Self {
        let host = &config.memory.host;
        let shared = host.shared_gib * GIB;
        let process = |resident: f64| {
            let file = LIBRARIES.min(resident / 2.0);
            ProcessMemory { anonymous: resident - file, swapped: 0.0, shared, file }
        };
        Self {
            api: process(config.resident_bytes),
            core: process(host.core_gib * GIB),
            worker: process(host.worker_gib * GIB),
            workers: Shape::of(config).gpus,
            page_cache: host.page_cache_gib * GIB,
            limit: host.limit_gib * GIB,
        }
    }

    /// All processes, by name; workers one by one.
    pub fn processes(&self) -> Vec<(String, ProcessMemory)> {
        let own = [("APIServer".to_owned(), self.api), ("EngineCore".to_owned(), self.core)];
        own.into_iter().chain((0..self.workers).map(|rank| (format!("Worker_TP{rank}"), self.worker))).collect()
    }

    /// Anonymous memory of the container, in memory.
    pub fn anonymous(&self) -> f64 {
        self.sum(|process| process.anonymous)
    }

    /// Anonymous memory of the container, swapped out.
    pub fn swapped(&self) -> f64 {
        self.sum(|process| process.swapped)
    }

    /// Shared memory of the container: charged once, to whoever touched it first.
    pub fn shared(&self) -> f64 {
        self.api.shared.max(self.core.shared).max(self.worker.shared)
    }

    /// Memory without what the kernel could give back at once: what a limit is compared with.
    pub fn working_set(&self) -> f64 {
        self.anonymous() + self.shared()
    }

    /// Whether the kernel would kill a process now.
    pub fn over_limit(&self) -> bool {
        self.working_set() > self.limit
    }

    fn sum(&self, part: fn(&ProcessMemory) -> f64) -> f64 {
        part(&self.api) + part(&self.core) + part(&self.worker) * f64::from(self.workers)
    }
}

/// Bytes grown so far; towards a plateau the growth slows as what is left to fill.
fn grown(leak: &Leak, bytes: f64) -> f64 {
    match leak.plateau {
        Some(plateau) if plateau > 0.0 => plateau * -(-bytes / plateau).exp_m1(),
        _ => bytes,
    }
}
