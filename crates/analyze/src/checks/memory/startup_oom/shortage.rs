//! Causes of a start that was left with too little for the KV cache: without the growth of which term it would succeed.

use super::causes::{Failing, expected_weights, gpu_state};
use crate::{
    measure::memory_ledger::{DEBUG, StartLedger, gib},
    verdict::Weighed,
};
use firstcheck_model::{
    engine_log::Term,
    measurement::{Fact, Missing, Source},
    unit::Bytes,
};

/// What grew against a start that came up, bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Growth {
    weights: Option<f64>,
    /// Activations, or what they and libraries take together.
    rest: Option<f64>,
    graphs: Option<f64>,
}

impl Growth {
    fn of(now: &StartLedger, base: &StartLedger) -> Self {
        let grown = |term| Some(now.bytes(term)? - base.bytes(term)?);
        let reserved = |ledger: &StartLedger| ledger.reserved().map_or(0.0, |reserved| reserved.value.0);
        let weights = grown(Term::Weights);
        let graphs = reserved(now) - reserved(base);
        // Set by hand, a KV cache is not what the others leave.
        let left = grown(Term::KvCache).filter(|_| [now, base].iter().all(|l| l.term(Term::KvAsked).is_none()));
        let budget = match (now.budget(), base.budget()) {
            (Some(now), Some(base)) => Some(now.value.0 - base.value.0),
            // Neither log tells the budget: of one device it is the same if the share is.
            _ => (now.utilization == base.utilization).then_some(0.0),
        };
        let together = || Some(budget? - weights? - graphs - left?);
        Self { weights, rest: grown(Term::ActivationPeak).or_else(together), graphs: Some(graphs) }
    }

    fn largest(&self) -> f64 {
        [self.weights, self.rest, self.graphs].into_iter().flatten().fold(0.0, f64::max)
    }
}

/// Whether the start would succeed with so much more for the KV cache.
fn would_do(f: &Failing<'_>, more: f64) -> bool {
    let Some(left) = f.bytes(Term::KvCache) else { return false };
    match f.bytes(Term::KvNeeded) {
        Some(needed) => left + more >= needed,
        None => left + more > 0.0,
    }
}

fn growth(f: &Failing<'_>) -> Option<Growth> {
    Some(Growth::of(f.failed.ledger.as_ref()?, f.base?))
}

/// A term that grew against the base: it is a cause if the start would succeed without, or if no other grew more.
fn grown(f: &Failing<'_>, term: Option<f64>, what: &str) -> Option<Weighed> {
    let (all, by) = (growth(f)?, term?);
    let fact = f.size(by, format!("{what}: {:+.2} GiB against the base", gib(by)));
    let counts = by > f.params.change_gib * Bytes::GIB && (would_do(f, by) || by >= all.largest());
    Some(Weighed::by(counts, vec![fact]))
}

pub(super) fn weights(f: &Failing<'_>) -> Weighed {
    let against = growth(f).and_then(|growth| grown(f, growth.weights, "weights"));
    against.unwrap_or_else(|| Weighed::Open(vec![expected_weights()]))
}

pub(super) fn activations(f: &Failing<'_>) -> Weighed {
    let what = match f.bytes(Term::ActivationPeak) {
        Some(_) => "peak of activations",
        None => "peak of activations and memory outside the framework, together",
    };
    let by_hand = f.bytes(Term::KvAsked).is_some() || f.blocks_set().is_some();
    if by_hand {
        return Weighed::Excludes(vec![f.fact("the size of the KV cache was set by hand, nothing was taken off it")]);
    }
    if let Some(against) = growth(f).and_then(|growth| grown(f, growth.rest, what)) {
        return against;
    }
    let Some((peak, text)) = peak(f) else {
        return Weighed::Open(vec![Missing::not_exposed(
            "peak of activations and memory outside the framework",
            DEBUG,
        )]);
    };
    let half = would_do(f, peak / 2.0);
    let so = if half { "half of them would leave enough" } else { "half of them would not leave enough" };
    let fact = f.size(peak, format!("{text}; {so}"));
    Weighed::by(half, vec![fact])
}

/// The peak of activations as stated, or at least that.
fn peak(f: &Failing<'_>) -> Option<(f64, String)> {
    if let Some(stated) = f.bytes(Term::ActivationPeak) {
        return Some((stated, format!("activations took {:.2} GiB", gib(stated))));
    }
    let ledger = f.failed.ledger.as_ref()?;
    let budget = ledger.budget().map(|budget| budget.value.0).or_else(|| Some(f.total()? * ledger.utilization?))?;
    let reserved = ledger.reserved().map_or(0.0, |reserved| reserved.value.0);
    let together = budget - ledger.bytes(Term::Weights)? - reserved - ledger.bytes(Term::KvCache)?;
    let least = (together - f.params.outside_gib * Bytes::GIB).max(0.0);
    Some((
        least,
        format!("activations and libraries took {:.2} GiB, the former at least {:.2}", gib(together), gib(least)),
    ))
}

pub(super) fn context(f: &Failing<'_>) -> Weighed {
    let Some(needed) = f.bytes(Term::KvNeeded) else {
        return Weighed::Excludes(vec![f.fact("nothing is left for the KV cache, whatever the length")]);
    };
    let Some(left) = f.bytes(Term::KvCache) else {
        return Weighed::Open(vec![Missing::not_exposed("what was left for the KV cache", DEBUG)]);
    };
    let mut text = format!("a sequence of the greatest length needs {:.2} GiB, {:.2} are left", gib(needed), gib(left));
    if let Some(fits) = f.longest() {
        text.push_str(&format!("; {fits:.0} tokens fit"));
    }
    let fact = f.size(needed - left, text);
    if let Some((line, Some(profiled))) = f.blocks_set()
        && f.longest().is_some_and(|fits| fits > 0.0)
    {
        let mut facts = vec![fact];
        facts.push(f.fact(format!("line {line}: memory would have held {profiled:.0} blocks, fewer were set by hand")));
        return Weighed::Excludes(facts);
    }
    let length = |ledger: Option<&StartLedger>| ledger.and_then(|ledger| ledger.longest_sequence);
    let (now, before) = (length(f.failed.ledger.as_ref()), length(f.base));
    match now.zip(before) {
        Some((now, before)) => {
            let was = f.fact(format!("the greatest length is {now:.0} tokens, the base's {before:.0}"));
            let fitted = now > before && needed * before / now <= left;
            Weighed::by(fitted, vec![fact, was])
        }
        // A small rest is small by another term: whether the length is too great cannot be told from it.
        None if f.bytes(Term::Weights).is_none_or(|weights| left < f.params.usual_kv * weights) => {
            let mut missing = expected_weights();
            missing.what = format!("what the terms were in a start that came up: {}", fact.text);
            Weighed::Open(vec![missing])
        }
        None => Weighed::Supports(vec![fact]),
    }
}

pub(super) fn graphs(f: &Failing<'_>) -> Weighed {
    if let Some(against) = growth(f).and_then(|growth| grown(f, growth.graphs, "kept for graphs")) {
        return against;
    }
    let Some(reserved) = f.failed.ledger.as_ref().and_then(StartLedger::reserved) else {
        return Weighed::Excludes(vec![f.fact("nothing was kept for graphs before the KV cache was sized")]);
    };
    let would = would_do(f, reserved.value.0);
    let so = if would { "without them the start would succeed" } else { "less than is lacking" };
    let fact = reserved.fact(format!("{:.2} GiB were kept for graphs, {so}", gib(reserved.value.0)));
    Weighed::by(would, vec![fact])
}

/// A KV cache whose size somebody set.
pub(super) fn by_hand(f: &Failing<'_>) -> Weighed {
    if let Some(asked) = f.failed.ledger.as_ref().and_then(|ledger| ledger.term(Term::KvAsked)) {
        return Weighed::Supports(vec![
            asked.fact(format!("the KV cache was set to {:.2} GiB by hand", gib(asked.value.0))),
        ]);
    }
    match f.blocks_set() {
        Some((line, profiled)) => {
            let held = profiled.map_or(String::new(), |blocks| format!(" (memory holds {blocks:.0})"));
            let source = Source::line(f.log, line);
            let text = format!("the number of KV blocks was set by hand{held}");
            let fact = Fact { text, value: profiled, unit: Some("count".into()), interval: None, n: Some(1), source };
            Weighed::Supports(vec![fact])
        }
        None => Weighed::Excludes(vec![f.fact("the KV cache was sized by what was left, nobody set it")]),
    }
}

/// Whether the usual share of the device would leave enough.
pub(super) fn share_too_low(f: &Failing<'_>) -> Weighed {
    let usual = f.params.usual_share;
    let Some(share) = f.share() else {
        return Weighed::Excludes(vec![f.fact("nobody set the share of the device that the engine may use")]);
    };
    let fact = f.fact(format!("the engine may use a share of {share:.3} of the device"));
    if share >= usual {
        return Weighed::Excludes(vec![fact]);
    }
    let Some(total) = f.total() else { return Weighed::Open(vec![gpu_state("memory of the device")]) };
    let more = (usual - share) * total;
    let text = format!("a share of {usual} would give {:.2} GiB more", gib(more));
    let facts = vec![fact, f.size(more, text)];
    Weighed::by(would_do(f, more), facts)
}
