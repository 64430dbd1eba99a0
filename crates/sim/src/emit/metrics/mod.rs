//! The engine's metrics under the names, types and labels of its page, by version: vLLM's here, SGLang's beside it.

mod cache_config;
mod family;
mod parts;
mod process;
mod ranks;
mod requests;
mod scheduler;

use super::{page, sglang, version::Version};
use crate::engine::Engine;

pub use super::page::Process;
#[cfg(feature = "serve")]
pub(crate) use super::page::render;
pub(crate) use super::page::{engine_labels, suffix};
pub use family::{EngineLabels, Family, FamilyKind, Sample};
pub(crate) use ranks::of_server;

/// The page in the Prometheus text format.
pub fn page(engine: &Engine, process: &Process) -> String {
    page::render(&families(engine, process), &engine.config().model_name)
}

/// All families as they stand after the last finished step; for one engine and process always the same ones in the
/// same order.
pub fn families<'a>(engine: &'a Engine, process: &Process) -> Vec<Family<'a>> {
    if let Some(view) = engine.sglang() {
        return sglang::families(engine, &view);
    }
    let (config, stats) = (engine.config(), engine.stats());
    let release = Release::of(&config.version);
    let mut families = process::families(process, config, stats);
    families.extend(scheduler::levels(release, stats));
    families.extend(scheduler::counters(release, stats));
    families.extend(requests::histograms(release, stats));
    families.extend(parts::families(stats));
    families.push(cache_config::info(release, config));
    families
}

/// Releases between which the page differs, in order. The names are those of the first release known to have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Release {
    /// As 0.16: no reason for waiting, no estimate of arithmetic.
    V0_16,
    /// As 0.25: waiting by reason.
    V0_20,
    /// As 0.32: preemptions a request, cached tokens by tier, refusals.
    V0_32,
}

impl Release {
    /// A version that is no number is taken for the newest.
    pub(super) fn of(version: &str) -> Self {
        match Version::read(version) {
            Some(version) if version < Version::new(0, 20, 0) => Self::V0_16,
            Some(version) if version < Version::new(0, 29, 0) => Self::V0_20,
            _ => Self::V0_32,
        }
    }
}
