//! Where the memory of a device goes at the engine's start, as its log tells.

use crate::side::{Measure, Side};
use firstcheck_model::{
    engine_log::{EngineLog, MemoryTerm, Phase, Remark, StartPhase, Term},
    measurement::{Measurement, Missing, Source},
    unit::Bytes,
};
use std::ops::Range;

/// The ledgers of a side, one a log that tells any term of it.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryLedger {
    /// In the order of the logs.
    pub starts: Vec<StartLedger>,
}

/// The ledger of the last start in one log, of the rank that has the least left for the KV cache.
///
/// `KV = budget − weights − activation peak − outside the framework − reserved for graphs` (vLLM; the third and fourth are
/// told at DEBUG only since V1). What a log's level leaves out is [unknown](Self::unknown) and no zero.
#[derive(Debug, Clone, PartialEq)]
pub struct StartLedger {
    /// The log, as reports name it.
    pub log: String,
    /// The rank's process, where the log names processes.
    pub process: Option<String>,
    /// Terms that are stated, in the order of [`Term`].
    pub terms: Vec<(Term, Measurement<Bytes>)>,
    /// Whether the estimate for graphs was taken off before the KV cache was sized.
    pub graphs_reserved: bool,
    /// Share of the device's memory that the engine may use, where it is stated.
    pub utilization: Option<f64>,
    /// The line by which somebody set the number of KV blocks, and the blocks that memory would have held.
    pub blocks_set: Option<(u64, Option<f64>)>,
    /// Greatest length of a sequence, tokens, where the log tells it.
    pub longest_sequence: Option<f64>,
    /// Weights of each rank that states them.
    pub weights: Vec<(Option<String>, f64)>,
}

/// What the stated terms leave of the budget beside the stated KV cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Remainder {
    /// How much.
    pub bytes: Measurement<Bytes>,
    /// Terms that the log leaves out: the remainder is all of them together. Empty: all are there, and the remainder is a
    /// term of its own that nothing explains.
    pub unknown: Vec<Term>,
}

impl Measure for MemoryLedger {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let starts: Vec<StartLedger> = side.evidence.logs.iter().filter_map(StartLedger::of).collect();
        if starts.is_empty() {
            return Err(Missing::not_exposed("terms of the memory ledger", DEBUG));
        }
        Ok(Self { starts })
    }
}

/// How the terms that a log at INFO leaves out are had.
pub(crate) const DEBUG: &str = "start once with VLLM_LOGGING_LEVEL=DEBUG and give that log from its first line on";

/// What is taken off the budget: at once, or term by term.
const SPENT: [Term; 3] = [Term::Weights, Term::ActivationPeak, Term::NonTorch];

impl StartLedger {
    /// The ledger that a log tells of its last start; `None` where it tells no term.
    pub fn of(log: &EngineLog) -> Option<Self> {
        Self::within(log, log.began..u64::MAX)
    }

    /// That of the starts before its last one, if one of them came up.
    pub fn earlier(log: &EngineLog) -> Option<Self> {
        let ready = |phase: &Phase| phase.phase == StartPhase::Ready && phase.line < log.began;
        log.phases.iter().any(ready).then(|| Self::within(log, 0..log.began))?
    }

    fn within(log: &EngineLog, lines: Range<u64>) -> Option<Self> {
        let stated: Vec<&MemoryTerm> = log.memory.iter().filter(|stated| lines.contains(&stated.line)).collect();
        let rank = tightest(&stated)?;
        let own = |term: Term| {
            let of_term = || stated.iter().rev().filter(move |stated| stated.term == term);
            // What is logged once stands for all ranks.
            of_term().find(|stated| stated.process == rank).or_else(|| of_term().next())
        };
        let mut names: Vec<Term> = stated.iter().map(|stated| stated.term).collect();
        names.sort_unstable();
        names.dedup();
        let terms = names.into_iter().filter_map(|term| Some((term, measured(log, own(term)?)))).collect();
        let event = |kind: &str| log.events.iter().rfind(|event| event.kind == kind && lines.contains(&event.line));
        let figure = |event: &Remark, name: &str| event.figures.iter().find(|(known, _)| *known == name).map(|f| f.1);
        let reserved = event("graphs_reserved");
        let by_hand = event("kv_blocks_overridden");
        let number = |name: &str| log.setting(name).and_then(|setting| setting.value.parse().ok());
        let told = reserved.and_then(|event| figure(event, "utilization"));
        Some(Self {
            log: log.label.clone(),
            process: rank,
            terms,
            graphs_reserved: reserved.is_some(),
            utilization: told.or_else(|| number("gpu_memory_utilization")),
            blocks_set: by_hand.map(|event| (event.line, figure(event, "profiled_blocks"))),
            longest_sequence: number("max_model_len"),
            weights: weights(&stated),
        })
    }

    /// A stated term.
    pub fn term(&self, term: Term) -> Option<&Measurement<Bytes>> {
        self.terms.iter().find(|(stated, _)| *stated == term).map(|(_, measurement)| measurement)
    }

    /// Bytes of a stated term.
    pub fn bytes(&self, term: Term) -> Option<f64> {
        self.term(term).map(|stated| stated.value.0)
    }

    /// What the engine may use: as stated, else the device's memory times the share.
    pub fn budget(&self) -> Option<Measurement<Bytes>> {
        self.term(Term::Budget).cloned().or_else(|| {
            let (total, share) = (self.term(Term::Total)?, self.utilization?);
            let source = Source::Derived { by: "total × utilisation".into(), from: vec![total.source.clone()] };
            Some(Measurement { value: Bytes(total.value.0 * share), interval: None, n: 1, source })
        })
    }

    /// What was taken off for graphs before the KV cache was sized.
    pub fn reserved(&self) -> Option<&Measurement<Bytes>> {
        self.term(Term::GraphsEstimated).filter(|_| self.graphs_reserved)
    }

    /// Terms that changed against an earlier start by more than `least` bytes: the term, what it was, and what it is.
    pub fn changes(&self, earlier: &Self, least: f64) -> Vec<(Term, f64, &Measurement<Bytes>)> {
        let both = self.terms.iter().filter_map(|(term, now)| Some((*term, earlier.bytes(*term)?, now)));
        both.filter(|(_, before, now)| (now.value.0 - before).abs() > least).collect()
    }

    /// Terms between budget and KV cache that the log leaves out.
    pub fn unknown(&self) -> Vec<Term> {
        if self.term(Term::NonKv).is_some() {
            return Vec::new();
        }
        SPENT.into_iter().filter(|term| self.term(*term).is_none()).collect()
    }

    /// What the stated terms leave of the budget beside the stated KV cache; `None` without a budget or a KV cache, or where
    /// the cache was set by hand and so is not what the others left.
    pub fn remainder(&self) -> Option<Remainder> {
        let (budget, kv) = (self.budget()?, self.term(Term::KvCache)?);
        if self.term(Term::KvAsked).is_some() {
            return None;
        }
        let spent: Vec<&Measurement<Bytes>> = match self.term(Term::NonKv) {
            Some(all) => vec![all],
            None => SPENT.into_iter().filter_map(|term| self.term(term)).collect(),
        };
        let spent: Vec<&Measurement<Bytes>> = spent.into_iter().chain(self.reserved()).chain([kv]).collect();
        let left = spent.iter().fold(budget.value.0, |left, term| left - term.value.0);
        let from = spent.iter().map(|term| term.source.clone()).chain([budget.source]).collect();
        let source = Source::Derived { by: "budget − stated terms − KV cache".into(), from };
        let bytes = Measurement { value: Bytes(left), interval: None, n: 1, source };
        Some(Remainder { bytes, unknown: self.unknown() })
    }
}

/// The process of the rank with the least KV cache; of several the first. A rank is what loads weights.
fn tightest(stated: &[&MemoryTerm]) -> Option<Option<String>> {
    let loads = |process: &Option<String>| stated.iter().any(|s| s.term == Term::Weights && s.process == *process);
    let kv = |process: &Option<String>| {
        let cache = stated.iter().rev().find(|s| s.term == Term::KvCache && s.process == *process);
        cache.map_or(f64::INFINITY, |cache| cache.bytes.0)
    };
    let order = |a: &&MemoryTerm, b: &&MemoryTerm| {
        loads(&b.process).cmp(&loads(&a.process)).then(kv(&a.process).total_cmp(&kv(&b.process)))
    };
    stated.iter().copied().min_by(order).map(|tightest| tightest.process.clone())
}

fn weights(stated: &[&MemoryTerm]) -> Vec<(Option<String>, f64)> {
    let mut all: Vec<(Option<String>, f64)> = Vec::new();
    for term in stated.iter().filter(|stated| stated.term == Term::Weights) {
        match all.iter_mut().find(|(process, _)| *process == term.process) {
            Some(known) => known.1 = term.bytes.0,
            None => all.push((term.process.clone(), term.bytes.0)),
        }
    }
    all
}

fn measured(log: &EngineLog, stated: &MemoryTerm) -> Measurement<Bytes> {
    Measurement { value: stated.bytes, interval: None, n: 1, source: Source::line(&log.label, stated.line) }
}

/// Bytes as GiB with two decimals, for sentences; what rounds to zero is no minus zero.
pub(crate) fn gib(bytes: f64) -> f64 {
    (bytes / Bytes::GIB * 100.0).round() / 100.0 + 0.0
}
