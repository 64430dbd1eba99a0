//! What captured graphs take of a device's memory, and what is kept for them when the KV cache is sized.

use super::memory_ledger::{MemoryLedger, StartLedger};
use crate::side::{Measure, Side};
use firstcheck_model::{
    engine_log::{EngineLog, Term},
    measurement::{Measurement, Missing, Source},
    unit::{Bytes, Count},
};

/// Graphs in the ledger of the start that has the least KV cache.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphBudget {
    /// The ledger.
    pub start: StartLedger,
    /// What they were expected to take.
    pub estimated: Option<Measurement<Bytes>>,
    /// What they took.
    pub actual: Option<Measurement<Bytes>>,
    /// The largest captured size, tokens.
    pub largest: Option<Measurement<Count>>,
    /// Memory of the device as the engine's advice implies it: the estimate over the share that it is said to cost. The
    /// share has four digits, so it is good to some percent.
    pub implied_total: Option<Measurement<Bytes>>,
}

impl GraphBudget {
    /// What was taken off the KV cache for them: the estimate where it is reserved, 0 where not.
    pub fn reserved(&self) -> f64 {
        self.start.reserved().map_or(0.0, |reserved| reserved.value.0)
    }

    /// Estimate less what they took, bytes.
    pub fn over_estimate(&self) -> Option<f64> {
        Some(self.estimated.as_ref()?.value.0 - self.actual.as_ref()?.value.0)
    }

    /// The KV cache as what the other terms left; `None` where it was set by hand.
    pub fn kv(&self) -> Option<&Measurement<Bytes>> {
        self.start.term(Term::KvCache).filter(|_| self.start.term(Term::KvAsked).is_none())
    }
}

impl Measure for GraphBudget {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let ledger = side.measure::<MemoryLedger>()?;
        let kv = |start: &&StartLedger| start.bytes(Term::KvCache).unwrap_or(f64::INFINITY);
        let start = ledger.starts.iter().min_by(|a, b| kv(a).total_cmp(&kv(b)));
        let Some(start) = start.cloned() else {
            return Err(Missing::not_exposed("a start-up log", "give the server's log from its first line on"));
        };
        let log = side.evidence.logs.iter().find(|log| log.label == start.log);
        let (estimated, actual) = (start.term(Term::GraphsEstimated).cloned(), start.term(Term::GraphsActual).cloned());
        let implied_total = log.and_then(|log| implied(log, estimated.as_ref()?));
        Ok(Self { largest: log.and_then(largest), implied_total, start, estimated, actual })
    }
}

fn figure(log: &EngineLog, kind: &str, name: &str) -> Option<(f64, Source)> {
    let event = log.events.iter().rfind(|event| event.kind == kind && event.line >= log.began)?;
    let value = event.figures.iter().find(|(known, _)| *known == name)?.1;
    Some((value, Source::line(&log.label, event.line)))
}

fn largest(log: &EngineLog) -> Option<Measurement<Count>> {
    let (value, source) = figure(log, "graphs_profiled", "largest")?;
    Some(Measurement { value: Count(value), interval: None, n: 1, source })
}

fn implied(log: &EngineLog, estimated: &Measurement<Bytes>) -> Option<Measurement<Bytes>> {
    let (share, source) = figure(log, "graphs_reserved", "utilization")?;
    let (without, _) = figure(log, "graphs_reserved", "equivalent")?;
    let total = estimated.value.0 / (share - without);
    let source = Source::Derived { by: "estimate / its share".into(), from: vec![estimated.source.clone(), source] };
    (total.is_finite() && total > 0.0).then_some(Measurement { value: Bytes(total), interval: None, n: 1, source })
}
