//! Causes of a start that found too little free on the device.

use super::causes::{Failing, expected_weights, gpu_state};
use crate::{measure::memory_ledger::gib, verdict::Weighed};
use firstcheck_model::{
    engine_log::Term,
    measurement::{Fact, Missing},
    unit::Bytes,
};

/// What is not free before anything is loaded: the driver's, the engine's own context, and other processes'.
fn taken(f: &Failing<'_>) -> Option<(f64, Fact)> {
    let (free, total) = (f.bytes(Term::FreeAtStart)?, f.bytes(Term::Total)?);
    let taken = total - free;
    let text = format!("{:.2} of {:.2} GiB were not free before anything was loaded", gib(taken), gib(total));
    Some((taken, f.size(taken, text)))
}

/// Less is free than the engine may use: another process holds the rest, if it is more than its own.
pub(super) fn not_free(f: &Failing<'_>) -> Weighed {
    match taken(f) {
        Some((bytes, fact)) if bytes > f.params.others_gib * Bytes::GIB => {
            Weighed::Supports(vec![fact].into_iter().chain(listed(f)).collect())
        }
        Some((_, fact)) => Weighed::Excludes(vec![fact]),
        None => Weighed::Open(vec![gpu_state("what processes hold on the device")]),
    }
}

/// The share is above what even an empty device has free.
pub(super) fn share_too_high(f: &Failing<'_>) -> Weighed {
    let (Some((bytes, mut fact)), Some(budget)) = (taken(f), f.failed.ledger.as_ref().and_then(|l| l.budget())) else {
        return Weighed::Open(vec![gpu_state("what is free on the device")]);
    };
    if bytes > f.params.others_gib * Bytes::GIB {
        fact.text.push_str(": more than the engine's own");
        return Weighed::Excludes(vec![fact]);
    }
    let asked =
        budget.fact(format!("the engine may use {:.2} GiB, more than an empty device has free", gib(budget.value.0)));
    Weighed::Supports(vec![fact, asked])
}

/// What other processes held when an allocation failed.
pub(super) fn others(f: &Failing<'_>) -> Weighed {
    let Some((held, fact)) = held_by_others(f) else {
        return Weighed::Open(vec![gpu_state("what other processes hold on the device")]);
    };
    let facts: Vec<Fact> = [fact].into_iter().chain(listed(f)).collect();
    let device = f.device();
    let lacking = device.tried.zip(device.free).map(|(tried, free)| tried.0 - free.0);
    // Without them it would have failed as well: then they are not why.
    let enough = lacking.is_none_or(|lacking| held >= lacking);
    Weighed::by(held > f.params.others_gib * Bytes::GIB && enough, facts)
}

fn held_by_others(f: &Failing<'_>) -> Option<(f64, Fact)> {
    if let Some(others) = f.device().others {
        let text = format!("other processes held {:.2} GiB of the device", gib(others.0));
        return Some((others.0, f.size(others.0, text)));
    }
    let before = taken(f);
    let listed = || {
        let held = f.gpus().filter_map(|gpu| gpu.memory_used).map(|used| used.0).reduce(f64::max)?;
        let text = format!("{:.2} GiB of a device are in use after the engine is gone", gib(held));
        Some((held, f.size(held, text)))
    };
    before.or_else(listed)
}

/// The processes on the devices, by name.
fn listed(f: &Failing<'_>) -> Option<Fact> {
    let held = f.gpus().flat_map(|gpu| &gpu.processes).filter_map(|process| Some((process, process.memory? as f64)));
    let (process, bytes) = held.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(f.size(bytes, format!("{} (pid {}) holds {:.2} GiB", process.name, process.pid, gib(bytes))))
}

/// Weights that did not fit while they were loaded: nothing else is on the device then but other processes.
pub(super) fn loading(f: &Failing<'_>) -> Weighed {
    let device = f.device();
    let Some((others, fact)) = held_by_others(f) else {
        return Weighed::Open(vec![gpu_state("what other processes hold on the device")]);
    };
    let own = device.allocated.or(device.own).map(|own| own.0 + device.tried.map_or(0.0, |tried| tried.0));
    let larger = |own: f64| f.size(own, format!("weights of {:.2} GiB and more were asked for", gib(own)));
    let base = f.base.and_then(|base| base.term(Term::Weights));
    match (own, f.total(), base) {
        (Some(own), Some(total), _) if own > total => Weighed::Supports(vec![larger(own)]),
        (Some(own), _, Some(base)) if own > base.value.0 * f.params.ratio => {
            let before = base.fact(format!("base: {:.2} GiB of weights", gib(base.value.0)));
            Weighed::Supports(vec![larger(own), before])
        }
        _ if others <= f.params.others_gib * Bytes::GIB => {
            Weighed::Supports(own.map(larger).into_iter().chain([fact]).collect())
        }
        _ => Weighed::Open(vec![expected_weights()]),
    }
}

/// Weights where something else did not fit beside them.
pub(super) fn beside_weights(f: &Failing<'_>) -> Weighed {
    let (now, before) = (f.bytes(Term::Weights), f.base.and_then(|base| base.term(Term::Weights)));
    let (Some(now), Some(before)) = (now, before) else {
        return Weighed::Open(vec![expected_weights()]);
    };
    let text = format!("{:.2} GiB of weights, base {:.2}", gib(now), gib(before.value.0));
    let facts = vec![f.size(now - before.value.0, text), before.fact("the base's weights")];
    Weighed::by(now > before.value.0 * f.params.ratio, facts)
}

/// An allocation for `what` failed: the message says so itself.
pub(super) fn ran_out(f: &Failing<'_>, what: &str) -> Weighed {
    let device = f.device();
    let text = match (device.tried, device.free) {
        (Some(tried), Some(free)) => {
            format!("{what} asked for {:.2} GiB, {:.2} GiB were free", gib(tried.0), gib(free.0))
        }
        _ => format!("{what} ran out of memory"),
    };
    Weighed::Supports(vec![device.tried.map_or_else(|| f.fact(text.clone()), |tried| f.size(tried.0, text.clone()))])
}

/// Graphs are captured after the KV cache has taken what the budget left.
pub(super) fn capture(f: &Failing<'_>) -> Weighed {
    let Weighed::Supports(mut facts) = ran_out(f, "the capture of graphs") else { return Weighed::Open(Vec::new()) };
    if let Some(estimate) = f.failed.ledger.as_ref().and_then(|ledger| ledger.term(Term::GraphsEstimated)) {
        facts.push(estimate.fact(format!("{:.2} GiB were expected for them", gib(estimate.value.0))));
    }
    Weighed::Supports(facts)
}

/// Whether the usual share would leave enough beside the budget.
pub(super) fn share_leaves_too_little(f: &Failing<'_>) -> Weighed {
    let Some(share) = f.share() else {
        return Weighed::Open(vec![Missing::not_exposed(
            "the share of the device that the engine may use",
            "give the log from its first line on, or /server_info",
        )]);
    };
    let fact = f.fact(format!("the engine may use a share of {share:.3} of the device"));
    let device = f.device();
    let lacking = device.tried.zip(device.free).map(|(tried, free)| tried.0 - free.0);
    let freed = f.total().map(|total| (share - f.params.usual_share) * total);
    match freed.zip(lacking) {
        Some((freed, lacking)) if freed > 0.0 && freed >= lacking => {
            let text = format!("a share of {} would leave {:.2} GiB more free", f.params.usual_share, gib(freed));
            Weighed::Supports(vec![fact, f.size(freed, text)])
        }
        _ => Weighed::Excludes(vec![fact]),
    }
}
