//! What each cause is weighed by. Where a start failed decides which causes come into question at all.

use super::{Cause, Params, allocation, shortage};
use crate::{
    measure::{
        memory_ledger::{StartLedger, gib},
        starts::{FailedStart, Stage},
    },
    verdict::Weighed,
    version,
};
use firstcheck_model::{
    engine_log::{DeviceMemory, EngineLog, FailureKind, Term},
    evidence::{Evidence, Kind},
    fingerprint::field,
    gpu::GpuState,
    measurement::{Fact, Missing, Source},
    signal::{Part, Signal},
};
use std::{cmp::Ordering, ops::RangeInclusive};

/// A failed start with what its causes are told by.
pub(super) struct Failing<'f> {
    pub(super) log: &'f str,
    pub(super) failed: &'f FailedStart,
    /// The ledger of a start that came up.
    pub(super) base: Option<&'f StartLedger>,
    pub(super) evidence: &'f Evidence,
    pub(super) params: &'f Params,
}

/// How a start ended, by its root cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Options were rejected.
    Rejected,
    /// Something that is no memory.
    NotMemory,
    /// The root cause is not in the log, or is none that is known.
    Unknown,
    /// The system ended a process.
    Killed,
    /// Less was free than the engine may use.
    NotFree,
    /// A KV cache of a stated size did not fit.
    KvRequest,
    /// Too little was left for the KV cache.
    Shortage,
    /// An allocation failed.
    OutOfMemory,
}

/// Weighs one cause of one failed start.
type Weigh = fn(&Failing<'_>) -> Weighed;

/// All causes.
pub(super) const ALL: &[(Cause, Weigh)] = &[
    (Cause::OtherProcess, other_process),
    (Cause::WeightsLarger, weights_larger),
    (Cause::ActivationPeak, activation_peak),
    (Cause::ContextTooLong, context_too_long),
    (Cause::GraphMemory, graph_memory),
    (Cause::SamplerWarmUp, sampler_warm_up),
    (Cause::HostMemory, host_memory),
    (Cause::Rejected, rejected),
    (Cause::KvRequest, kv_request),
    (Cause::Utilization, utilization),
    (Cause::NotMemory, not_memory),
];

/// What several failed starts say of one cause: one that supports it outweighs one that leaves it open, and that one that
/// excludes it.
pub(super) fn of_all(weighed: impl Iterator<Item = Weighed>) -> Weighed {
    let rank = |one: &Weighed| match one {
        Weighed::Supports(_) => 2,
        Weighed::Open(_) => 1,
        Weighed::Excludes(_) => 0,
    };
    weighed.max_by_key(rank).unwrap_or(Weighed::Open(Vec::new()))
}

impl Failing<'_> {
    /// A sentence on the line of the failure.
    pub(super) fn fact(&self, text: impl Into<String>) -> Fact {
        let source = Source::line(self.log, self.failed.root.line);
        Fact { text: text.into(), value: None, unit: None, interval: None, n: None, source }
    }

    /// The same with a size in it.
    pub(super) fn size(&self, bytes: f64, text: impl Into<String>) -> Fact {
        super::size(bytes, &self.fact(""), text.into())
    }

    pub(super) fn stage(&self) -> Stage {
        self.failed.stage
    }

    pub(super) fn ending(&self) -> Ending {
        match self.failed.root.kind {
            FailureKind::Configuration => Ending::Rejected,
            FailureKind::Address | FailureKind::Model | FailureKind::Communication | FailureKind::KvTransfer => {
                Ending::NotMemory
            }
            FailureKind::Killed => Ending::Killed,
            FailureKind::FreeMemory => Ending::NotFree,
            FailureKind::KvRequestTooLarge => Ending::KvRequest,
            FailureKind::NoKvMemory | FailureKind::KvTooSmall => Ending::Shortage,
            FailureKind::OutOfMemory | FailureKind::SamplerWarmUp => Ending::OutOfMemory,
            FailureKind::Request | FailureKind::Consequence | FailureKind::Other => Ending::Unknown,
        }
    }

    /// A term of the ledger, bytes.
    pub(super) fn bytes(&self, term: Term) -> Option<f64> {
        self.failed.ledger.as_ref()?.bytes(term)
    }

    /// What the failure says of the device.
    pub(super) fn device(&self) -> DeviceMemory {
        self.failed.root.memory.unwrap_or_default()
    }

    /// Memory of the device: the log's, the failure's, or that of the state of GPUs.
    pub(super) fn total(&self) -> Option<f64> {
        let listed = || self.gpus().filter_map(|gpu| gpu.memory_total).map(|total| total.0).reduce(f64::max);
        self.bytes(Term::Total).or(self.device().total.map(|total| total.0)).or_else(listed)
    }

    pub(super) fn gpus(&self) -> impl Iterator<Item = &GpuState> {
        self.evidence.gpus.iter().flat_map(|snapshot| &snapshot.item.gpus)
    }

    /// The line by which somebody set the number of KV blocks, and the blocks that memory would have held.
    pub(super) fn blocks_set(&self) -> Option<(u64, Option<f64>)> {
        self.failed.ledger.as_ref()?.blocks_set
    }

    /// The log it is told in.
    pub(super) fn engine_log(&self) -> Option<&EngineLog> {
        self.evidence.logs.iter().find(|log| log.label == self.log)
    }

    /// Share of the device that the engine may use, where somebody set it or the log tells it.
    pub(super) fn share(&self) -> Option<f64> {
        self.failed.ledger.as_ref()?.utilization.or_else(|| {
            let budget = self.failed.ledger.as_ref()?.budget()?;
            Some(budget.value.0 / self.bytes(Term::Total)?)
        })
    }

    /// Weights of a device as the checkpoint's bytes over the ranks give them.
    pub(super) fn checkpoint(&self) -> Option<f64> {
        let bytes = self.evidence.stated.number(field::WEIGHTS_BYTES)?;
        let ranks = |name| self.evidence.stated.number(name).unwrap_or(1.0).max(1.0);
        Some(bytes / (ranks("tensor_parallel_size") * ranks("pipeline_parallel_size")))
    }

    /// Tokens of the longest sequence that the KV cache holds.
    pub(super) fn longest(&self) -> Option<f64> {
        let (_, rest) = self.failed.root.text.split_once("estimated maximum model length is ")?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }

    /// Why a cause that lies in `stages` does not come into question, or what would have to be known; `None` where it does.
    pub(super) fn out_of_question(&self, stages: RangeInclusive<Stage>) -> Option<Weighed> {
        let said = |text: &str| Some(Weighed::Excludes(vec![self.fact(text)]));
        match self.ending() {
            Ending::Unknown => Some(self.root_missing()),
            Ending::Rejected => said("the configuration was rejected before the device was asked for memory"),
            Ending::NotMemory => said("the failure is no lack of memory"),
            Ending::Killed => said("the system ended a process; no device ran out of memory"),
            Ending::KvRequest => said("what was asked for by hand is more than there is, whatever else is held"),
            _ if stages.contains(&self.stage()) => None,
            _ => {
                let order = if self.stage() < *stages.start() { "before" } else { "after" };
                let (stage, first) =
                    (self.stage().name(), if order == "before" { stages.start() } else { stages.end() });
                let text = format!("the start failed while {stage}, {order} {}", first.name());
                Some(Weighed::Excludes(vec![self.fact(text)]))
            }
        }
    }

    fn root_missing(&self) -> Weighed {
        let what = format!("the failure behind the others: {} tells none that is known", self.log);
        Weighed::Open(vec![Missing::not_exposed(what, Kind::EngineLog.obtain())])
    }
}

/// What the state of GPUs is missing for.
pub(super) fn gpu_state(what: &str) -> Missing {
    Missing::not_given(what, Kind::GpuState.obtain())
}

/// What weights are held against.
pub(super) fn expected_weights() -> Missing {
    let obtain = "give the model's folder, or the log of a start that succeeded as --base";
    Missing::not_given("bytes of the checkpoint, or a start-up log of before", obtain)
}

fn other_process(f: &Failing<'_>) -> Weighed {
    if let Some(out) = f.out_of_question(Stage::Device..=Stage::WarmUp) {
        return out;
    }
    match f.ending() {
        Ending::NotFree => allocation::not_free(f),
        Ending::Shortage if refuses_when_not_free(f) => {
            let text = "as much was free at the start as the engine may use: this version refuses to start otherwise";
            Weighed::Excludes(vec![f.fact(text)])
        }
        _ => allocation::others(f),
    }
}

/// vLLM since 0.9.2 compares what is free with what it may use before it loads anything.
fn refuses_when_not_free(f: &Failing<'_>) -> bool {
    let Some(log) = f.engine_log().filter(|log| log.engine.as_deref() == Some("vllm")) else { return false };
    log.version.as_deref().and_then(|version| version::order(version, "0.9.2")).is_some_and(Ordering::is_ge)
}

fn weights_larger(f: &Failing<'_>) -> Weighed {
    let out = f.out_of_question(Stage::Weights..=Stage::KvCache);
    out.or_else(|| larger_than_expected(f)).unwrap_or_else(|| match f.stage() {
        Stage::Weights => allocation::loading(f),
        _ if f.ending() == Ending::Shortage => shortage::weights(f),
        _ => allocation::beside_weights(f),
    })
}

/// Weights against the checkpoint and against the other ranks; `None` where neither tells that they are too large.
fn larger_than_expected(f: &Failing<'_>) -> Option<Weighed> {
    let ledger = f.failed.ledger.as_ref()?;
    let own = ledger.bytes(Term::Weights)?;
    let others = || ledger.weights.iter().map(|(_, bytes)| *bytes);
    let (least, most) = (others().reduce(f64::min)?, others().reduce(f64::max)?);
    if most > least * f.params.ratio {
        let text = format!("ranks hold {:.2} to {:.2} GiB of weights: an uneven shard", gib(least), gib(most));
        return Some(Weighed::Supports(vec![f.size(most - least, text)]));
    }
    let expected = f.checkpoint()?;
    let text = format!(
        "{:.2} GiB of weights were loaded, the checkpoint's part of a device is {:.2} GiB",
        gib(own),
        gib(expected)
    );
    let fact = f.size(own - expected, text);
    Some(Weighed::by(own > expected * f.params.ratio, vec![fact]))
}

fn activation_peak(f: &Failing<'_>) -> Weighed {
    let out = f.out_of_question(Stage::Profile..=Stage::KvCache);
    out.unwrap_or_else(|| match f.stage() {
        Stage::Profile => allocation::ran_out(f, "the profiling run of the greatest batch"),
        _ if f.ending() == Ending::Shortage => shortage::activations(f),
        _ => Weighed::Excludes(vec![f.fact("profiling ended and left memory for the KV cache")]),
    })
}

fn context_too_long(f: &Failing<'_>) -> Weighed {
    let out = f.out_of_question(Stage::KvCache..=Stage::KvCache);
    out.unwrap_or_else(|| match f.ending() {
        Ending::Shortage => shortage::context(f),
        _ => Weighed::Excludes(vec![f.fact("the KV cache was sized, and holds the longest sequence")]),
    })
}

fn graph_memory(f: &Failing<'_>) -> Weighed {
    let out = f.out_of_question(Stage::KvCache..=Stage::Capture);
    out.unwrap_or_else(|| match f.stage() {
        Stage::Capture => allocation::capture(f),
        _ if f.ending() == Ending::Shortage => shortage::graphs(f),
        _ => Weighed::Excludes(vec![f.fact("no graph was captured yet")]),
    })
}

fn sampler_warm_up(f: &Failing<'_>) -> Weighed {
    let out = f.out_of_question(Stage::WarmUp..=Stage::WarmUp);
    out.unwrap_or_else(|| allocation::ran_out(f, "the warm-up with all sequences"))
}

fn host_memory(f: &Failing<'_>) -> Weighed {
    match f.ending() {
        Ending::Unknown => f.root_missing(),
        Ending::Killed => {
            let stage = f.stage().name();
            let mut facts = vec![f.fact(format!("the system ended a process while {stage}, and no device ran out"))];
            let limits = f.evidence.runs.iter().flat_map(|run| run.series(Signal::ContainerLimit, Part::Value));
            let limit = limits.filter_map(|series| series.value.last()).copied().find(|limit| *limit > 0.0);
            facts.extend(limit.map(|limit| f.size(limit, format!("the container may use {:.1} GiB", gib(limit)))));
            Weighed::Supports(facts)
        }
        _ => Weighed::Excludes(vec![f.fact("the engine itself says why it failed: no process was killed")]),
    }
}

fn rejected(f: &Failing<'_>) -> Weighed {
    match f.ending() {
        Ending::Unknown => f.root_missing(),
        Ending::Rejected => Weighed::Supports(vec![f.fact(format!("rejected: {}", clipped(&f.failed.root.text)))]),
        _ => Weighed::Excludes(vec![f.fact(format!("its options were taken: it failed while {}", f.stage().name()))]),
    }
}

fn kv_request(f: &Failing<'_>) -> Weighed {
    if f.ending() == Ending::KvRequest {
        return Weighed::Supports(vec![f.fact(clipped(&f.failed.root.text))]);
    }
    let out = f.out_of_question(Stage::KvCache..=Stage::WarmUp);
    out.unwrap_or_else(|| shortage::by_hand(f))
}

fn utilization(f: &Failing<'_>) -> Weighed {
    let out = f.out_of_question(Stage::Device..=Stage::WarmUp);
    out.unwrap_or_else(|| match f.ending() {
        Ending::NotFree => allocation::share_too_high(f),
        Ending::Shortage => shortage::share_too_low(f),
        _ if f.stage() < Stage::KvCache => {
            Weighed::Excludes(vec![f.fact("what failed does not depend on the share of the device")])
        }
        _ if f.bytes(Term::KvAsked).is_some() => {
            Weighed::Excludes(vec![f.fact("a KV cache set by hand does not respect the share of the device")])
        }
        _ => allocation::share_leaves_too_little(f),
    })
}

fn not_memory(f: &Failing<'_>) -> Weighed {
    match f.ending() {
        Ending::Unknown => f.root_missing(),
        Ending::NotMemory => Weighed::Supports(vec![f.fact(clipped(&f.failed.root.text))]),
        _ => Weighed::Excludes(vec![f.fact("the failure speaks of something else")]),
    }
}

fn clipped(text: &str) -> String {
    text.chars().take(200).collect()
}
