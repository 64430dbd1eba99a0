//! Splits of means by the engine's own histograms.

use super::{
    super::{
        plan::Key,
        policy::Policy,
        reading::{self, Reading},
    },
    Basis, Side, Split,
};
use crate::measure::server_ledger::{ServerLedger, Whole};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::Missing,
    metric::{Metric, Stat},
    span::Stage,
};

/// The engine's ledgers of a run's window.
#[derive(Debug, Clone)]
pub(in super::super) struct ServerMeans {
    ttft: Result<ServerLedger, Missing>,
    e2e: Result<ServerLedger, Missing>,
}

impl ServerMeans {
    /// Those of a run.
    pub fn of(run: &RunEvidence) -> Self {
        let ledger = |whole| ServerLedger::of(std::slice::from_ref(run), whole);
        Self { ttft: ledger(Whole::Ttft), e2e: ledger(Whole::E2e) }
    }

    fn get(&self, metric: Metric) -> Result<&ServerLedger, String> {
        let ledger = if metric == Metric::Ttft { &self.ttft } else { &self.e2e };
        ledger.as_ref().map_err(|missing| format!("{} is missing", missing.what))
    }
}

/// The mean of the client's latency: its own wait, what lies outside the server, and the server's terms. Where no client
/// was there, the server's own latency.
pub(super) fn split(
    base: Side,
    candidate: Side,
    keys: &[Key],
    metric: Metric,
    policy: &Policy,
) -> Result<Split, String> {
    let (b, c) = (terms(base, keys, metric, policy)?, terms(candidate, keys, metric, policy)?);
    let of = |terms: &Terms, stage| terms.stages.iter().find(|(known, _)| *known == stage).map(|(_, seconds)| *seconds);
    // A term that one side does not tell is explained on neither.
    let both = |stage: &Stage| Some((*stage, of(&b, *stage)?, of(&c, *stage)?));
    let stages: Vec<(Stage, f64, f64)> =
        Stage::ALL.iter().filter_map(both).filter(|(_, base, candidate)| *base != 0.0 || *candidate != 0.0).collect();
    if b.client != c.client {
        return Err("one side has requests and the other has none".into());
    }
    if stages.is_empty() {
        return Err("the two sides expose no term in common".into());
    }
    Ok(Split { of: b.of, basis: Basis::Histograms, total: (b.total, c.total), stages })
}

struct Terms {
    of: Key,
    total: f64,
    /// Whether the total is the client's.
    client: bool,
    stages: Vec<(Stage, f64)>,
}

fn terms((reading, columns): Side, keys: &[Key], metric: Metric, policy: &Policy) -> Result<Terms, String> {
    let label = &reading.label;
    let means = columns.server.as_ref().ok_or_else(|| format!("{label} has no requests and no scraped metrics"))?;
    let ledger = means.get(metric).map_err(|why| format!("{label}: {why}"))?;
    let server: Vec<(Stage, f64)> = ledger.terms.iter().map(|(stage, mean)| (*stage, mean.value.0)).collect();
    let whole = ledger.whole.as_ref().ok().map(|whole| whole.value.0);
    let Some(total) = value(reading, keys, metric) else {
        let whole =
            whole.ok_or_else(|| format!("{label}: no total to divide, neither the client's nor the engine's"))?;
        let of = if metric == Metric::Ttft { Metric::TtftServer } else { metric };
        let of = Key { metric: of, stat: Stat::Mean };
        return Ok(Terms { of, total: whole, client: false, stages: server });
    };
    let completed = reading.offered.saturating_sub(reading.unanswered);
    if let Some(share) = ledger.foreign_share(completed).filter(|share| share.abs() > policy.ledger_tolerance) {
        return Err(format!(
            "{label}: the engine's count of requests differs by {:+.0} % from the {completed} that the client completed: \
             its means are over others",
            share * 100.0
        ));
    }
    // From the intended send; a client that does not tell it sent when it meant to.
    let wait = value(reading, keys, Metric::Ttft).zip(value(reading, keys, Metric::TtftFromSent));
    let wait = wait.map_or(0.0, |(intended, sent)| intended - sent);
    let mut stages = vec![(Stage::Client, wait)];
    stages.extend(whole.map(|whole| (Stage::Outside, total - wait - whole)));
    stages.extend(server);
    Ok(Terms { of: Key { metric, stat: Stat::Mean }, total, client: true, stages })
}

/// The client's mean, where it is finite.
fn value(reading: &Reading, keys: &[Key], metric: Metric) -> Option<f64> {
    let at = keys.iter().position(|key| *key == Key { metric, stat: Stat::Mean })?;
    let cell: &reading::Cell = reading.cells.get(at)?;
    cell.value.filter(|value| value.is_finite())
}
