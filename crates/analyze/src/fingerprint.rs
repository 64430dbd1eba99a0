//! Everything that some evidence says of a deployment, as one fingerprint.

use firstcheck_model::{
    evidence::Evidence,
    fingerprint::{Fingerprint, Group, Stated},
    run::{Arrivals, CacheState, Origin, RunInfo},
};

/// The fingerprint of all that `evidence` holds: what was stated beside the runs, what each run recorded of its
/// deployment, and what was offered to it. What the runs do not agree in stands in it as contradictions.
pub fn of(evidence: &Evidence) -> Fingerprint {
    let mut all = evidence.stated.clone();
    for run in &evidence.runs {
        all.merge(&run.info.fingerprint);
        offered(&run.info, &run.label, &mut all);
    }
    all
}

/// What was offered to a deployment, as fields.
fn offered(info: &RunInfo, from: &str, into: &mut Fingerprint) {
    if info.origin == Origin::Observed {
        return;
    }
    let workload = &info.workload;
    let mut say = |name: &str, value: String| into.state(Group::Workload, name, Stated::new(value, from));
    say("workload", workload.description.clone());
    match &workload.arrivals {
        Arrivals::Open { rate, cv } => {
            let bursts = cv.map_or(String::new(), |cv| format!(", coefficient of variation {cv}"));
            say("workload.arrivals", format!("open loop, {rate} requests/s{bursts}"));
        }
        Arrivals::Closed { concurrency } => say("workload.arrivals", format!("closed loop of {concurrency} streams")),
        Arrivals::Unknown => {}
    }
    let cache = match workload.cache {
        CacheState::Cold => Some("cold"),
        CacheState::Warm => Some("warm"),
        CacheState::Unknown => None,
    };
    let known = [
        ("workload.trace_hash", workload.trace_hash.clone()),
        ("workload.streaming", workload.streaming.map(|on| on.to_string())),
        ("workload.warm_up_s", workload.warm_up.map(|length| length.0.to_string())),
        ("workload.prefix_cache", cache.map(str::to_owned)),
        ("workload.slo", info.slo.map(|slo| slo.to_string())),
    ];
    for (name, value) in known {
        value.into_iter().for_each(|value| say(name, value));
    }
}
