//! Which replica and rank something speaks of, by its labels.

use firstcheck_model::signal::Labels;

/// Labels that tell replicas of a deployment apart, and ranks of a replica, the coarser first.
const PLACES: [&str; 15] = [
    "instance",
    "pod",
    "namespace",
    "engine",
    "dp_rank",
    "tp_rank",
    "pp_rank",
    "moe_ep_rank",
    "rank",
    "worker",
    "worker_id",
    "engine_type",
    "Hostname",
    "node",
    "gpu",
];

/// The replica and rank in words: `instance=a:8000,engine=0`; `None` where no label says.
pub(crate) fn of_labels(labels: &Labels) -> Option<String> {
    let stated = PLACES.iter().filter_map(|name| Some(format!("{name}={}", labels.get(name)?)));
    let words: Vec<String> = stated.collect();
    (!words.is_empty()).then(|| words.join(","))
}
