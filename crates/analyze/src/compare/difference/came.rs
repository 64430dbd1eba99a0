//! How a difference came about.

use crate::version;
use firstcheck_model::{
    fingerprint::{Fingerprint, Group, field},
    report::Came,
};

/// What an engine computes from its settings, the model and the memory that is left.
const COMPUTED: [&str; 8] = [
    field::KV_BLOCKS,
    field::KV_TOKENS,
    "kv_concurrency",
    "kv_cache_size_tokens",
    "kv_cache_max_concurrency",
    "max_total_num_tokens",
    "num_cpu_blocks",
    "num_pages",
];

/// Beginnings of what an engine computes: the memory ledger of its start.
const COMPUTED_OF: [&str; 1] = ["memory."];

/// Options that set others, by the beginning of their names.
const IMPLIES: [(&str, &[&str]); 3] = [
    ("enforce_eager", &["compilation_", "cudagraph_", "optimization_level", "kernel_config.enable_jit_warmup"]),
    ("optimization_level", &["compilation_", "cudagraph_"]),
    ("performance_mode", &["compilation_", "cudagraph_", field::MAX_NUM_BATCHED_TOKENS, field::MAX_NUM_SEQS]),
];

/// How the difference in `name` came about. `defaults`: the two values are the defaults of their versions. Where they are
/// not, and no list of options is known of a side, nothing is said of who set it.
pub(super) fn of(name: &str, group: Group, defaults: bool, (base, candidate): (&Fingerprint, &Fingerprint)) -> Came {
    match group {
        Group::Engine | Group::Model | Group::Given | Group::Workload => return Came::Given,
        Group::Software | Group::Hardware | Group::Network => return Came::Environment,
        Group::Resolved => {}
    }
    if set_differently(name, base, candidate) {
        return Came::Given;
    }
    if COMPUTED.contains(&name) || COMPUTED_OF.iter().any(|start| name.starts_with(start)) {
        return Came::Computed;
    }
    if defaults {
        return Came::DefaultChanged;
    }
    let options_known = [base, candidate].iter().all(|print| print.group(Group::Given).next().is_some());
    match (options_known, other_version(base, candidate)) {
        (true, Some(true)) => Came::DefaultChanged,
        // One version has one default: what differs was worked out from the machine or the model.
        (true, Some(false)) => Came::Computed,
        _ => Came::Untold,
    }
}

/// Whether an option that sets `name` was given on one side alone, or differently.
fn set_differently(name: &str, base: &Fingerprint, candidate: &Fingerprint) -> bool {
    let implying = IMPLIES.iter().filter(|(_, names)| names.iter().any(|start| name.starts_with(start)));
    let options = std::iter::once(name).chain(implying.map(|(option, _)| *option));
    let mut given = options.map(|option| format!("{}{option}", field::GIVEN));
    given.any(|option| match (base.field(&option), candidate.field(&option)) {
        (Some(ours), Some(theirs)) => !ours.stated.agrees(&theirs.stated),
        (None, None) => false,
        _ => true,
    })
}

/// Whether the two are of different versions; `None` where that is not known.
fn other_version(base: &Fingerprint, candidate: &Fingerprint) -> Option<bool> {
    if base.get(field::ENGINE).zip(candidate.get(field::ENGINE)).is_some_and(|(ours, theirs)| ours != theirs) {
        return Some(true);
    }
    let (ours, theirs) = (base.get(field::ENGINE_VERSION)?, candidate.get(field::ENGINE_VERSION)?);
    Some(ours != theirs && version::order(ours, theirs).is_none_or(std::cmp::Ordering::is_ne))
}
