//! One run reduced to what a comparison keeps of it.

use super::{
    columns::Columns,
    gaps,
    plan::{Key, is_gap, is_latency},
    policy::Policy,
    told::Told,
    totals,
};
use firstcheck_model::{
    evidence::RunEvidence,
    metric::{Metric, Stat},
    report::RunRow,
    run::{Detail, RunInfo},
    signal::{Part, Signal},
    slo::Slo,
};
use firstcheck_stats::{batches, goodput::Counts, quantile::Sample};
use std::collections::BTreeSet;

/// Where a cell's value was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Basis {
    /// From requests, events, counters or the fingerprint of the run.
    #[default]
    Taken,
    /// Printed by a foreign file, without the rows behind it.
    Reported,
}

/// The value of one metric and statistic in one run; `+∞` where it reaches unanswered requests.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    pub value: Option<f64>,
    pub n: Option<u64>,
    pub basis: Basis,
    /// Why it may not be believed.
    pub doubt: Option<String>,
    /// Why a gap quantile is a jump between regimes and no level.
    pub jump: Option<String>,
    /// ln of the same statistic of contiguous batches of the run.
    pub batches: Option<Vec<f64>>,
}

impl Cell {
    /// A value over `n` samples.
    pub fn over(value: Option<f64>, n: u64) -> Self {
        Self { value: value.filter(|v| !v.is_nan()), n: Some(n), ..Self::default() }
    }
}

/// A run without its rows.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub label: String,
    pub info: RunInfo,
    pub row: RunRow,
    /// Offered requests of the window, and those of them that did not complete.
    pub offered: u64,
    pub unanswered: u64,
    pub slo: Option<Slo>,
    pub good: Option<Counts>,
    /// Requests that the engine finished over the window, by its own count.
    pub finished: Option<f64>,
    /// Completed requests without a first token.
    pub silent: u64,
    /// Prompt tokens a request, on average.
    pub prompt_tokens: Option<f64>,
    /// Whether the events of its streams are known.
    pub events: bool,
    /// What the server exposed.
    pub signals: BTreeSet<Signal>,
    /// What its log tells.
    pub told: Told,
    /// Median TTFT of the last quarter over the first, where both are finite.
    pub growth: Option<f64>,
    /// As many as the plan's keys.
    pub cells: Vec<Cell>,
}

impl Reading {
    /// Reduces a run; the columns are what only a pair still needs.
    pub fn of(run: &RunEvidence, told: Told, keys: &[Key], policy: &Policy) -> (Self, Columns) {
        let slo = policy.slo.or(run.info.slo);
        let columns = Columns::of(run, slo.as_ref(), policy);
        let sampled = match run.info.detail {
            Detail::Sample { of } => of,
            _ => None,
        };
        let offered = if columns.lines.is_empty() { sampled.unwrap_or(0) } else { columns.lines.len() as u64 };
        let mut reading = Self {
            label: run.label.clone(),
            info: run.info.clone(),
            row: super::sides::run_row(run),
            offered,
            unanswered: columns.unanswered(),
            slo,
            finished: totals::growth(run, Signal::Finished, Part::Value),
            good: columns.good(),
            silent: columns.silent(),
            prompt_tokens: mean_prompt(&columns),
            events: run.streams.is_some(),
            signals: run.signals.iter().filter_map(|series| series.signal).collect(),
            told,
            growth: growth(&columns),
            cells: Vec::new(),
        };
        let lag = send_lag_doubt(&columns, policy);
        reading.cells = cells(run, &columns, &reading, keys, policy, lag.as_deref());
        (reading, columns)
    }

    /// The value of the metric that a foreign file printed.
    fn reported(&self, key: Key) -> Option<Cell> {
        let found = self.info.reported.iter().find(|r| r.metric == key.metric && r.stat == key.stat)?;
        Some(Cell { value: Some(found.value), n: found.n, basis: Basis::Reported, ..Cell::default() })
    }

    /// What it says about the requests behind a quantile that cannot be claimed.
    pub fn requests(&self) -> u64 {
        self.offered
    }
}

/// Keys of one metric stand together: its values are sorted once.
fn cells(
    run: &RunEvidence,
    columns: &Columns,
    reading: &Reading,
    keys: &[Key],
    policy: &Policy,
    lag: Option<&str>,
) -> Vec<Cell> {
    let mut cells = Vec::with_capacity(keys.len());
    for keys in keys.chunk_by(|a, b| a.metric == b.metric) {
        let Some(metric) = keys.first().map(|key| key.metric) else { continue };
        let of_requests = (is_latency(metric) && !is_gap(metric)) || metric == Metric::SendLag;
        let latencies = of_requests.then(|| Latencies::of(columns, metric, policy)).flatten();
        for key in keys {
            let taken = if is_gap(metric) {
                gaps::cell(run, columns, *key, policy)
            } else if of_requests {
                latencies.as_ref().and_then(|latencies| latencies.cell(*key))
            } else {
                totals::cell(run, columns, reading, metric, policy)
            };
            cells.push(finished(run, reading, *key, taken, lag));
        }
    }
    cells
}

/// A cell with what is known against it.
fn finished(run: &RunEvidence, reading: &Reading, key: Key, taken: Option<Cell>, lag: Option<&str>) -> Cell {
    let mut cell = taken.filter(|c| c.value.is_some()).or_else(|| reading.reported(key)).unwrap_or_default();
    let own = run.info.client.as_ref().and_then(|client| {
        client.doubts.iter().find(|d| d.metric == Some(key.metric)).map(|d| format!("{}: {}", run.label, d.reason))
    });
    let late = lag.filter(|_| key.metric == Metric::Ttft).map(|why| format!("{}: {why}", run.label));
    cell.doubt = own.or(late).or(cell.doubt.take().map(|why| format!("{}: {why}", run.label)));
    cell
}

/// The latencies of a run, whole and in contiguous batches, each sorted.
struct Latencies {
    whole: Sample,
    batches: Vec<Sample>,
}

impl Latencies {
    fn of(columns: &Columns, metric: Metric, policy: &Policy) -> Option<Self> {
        let series = columns.series(metric);
        if series.is_empty() {
            return None;
        }
        let parts = batches::split(&series, policy.single_batches as usize).unwrap_or_default();
        let batches = parts.into_iter().filter_map(|part| Sample::new(part.to_vec()).ok()).collect();
        Some(Self { whole: Sample::new(series).ok()?, batches })
    }

    fn cell(&self, key: Key) -> Option<Cell> {
        let value = |sample: &Sample| match key.stat {
            Stat::Quantile(p) => sample.quantile(p),
            Stat::Mean => mean(finite(sample)),
            _ => None,
        };
        let n = if key.stat == Stat::Mean { finite(&self.whole).len() } else { self.whole.len() };
        let mut cell = Cell::over(value(&self.whole), n as u64);
        let logs = self.batches.iter().map(|batch| value(batch).filter(|v| *v > 0.0 && v.is_finite()).map(f64::ln));
        cell.batches = logs.collect::<Option<Vec<f64>>>().filter(|logs| !logs.is_empty());
        Some(cell)
    }
}

/// The values of requests that completed.
fn finite(sample: &Sample) -> &[f64] {
    let sorted = sample.sorted();
    &sorted[..sorted.partition_point(|v| v.is_finite())]
}

fn mean_prompt(columns: &Columns) -> Option<f64> {
    let known: Vec<f64> = columns.lines.iter().filter_map(|line| line.prompt).map(f64::from).collect();
    mean(&known)
}

/// Arithmetic mean; `None` without values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The middle value; `None` without values.
pub(super) fn median(values: Vec<f64>) -> Option<f64> {
    Sample::new(values).ok()?.quantile(0.5)
}

/// How late the client sent, where that voids TTFT.
fn send_lag_doubt(columns: &Columns, policy: &Policy) -> Option<String> {
    let lags: Vec<f64> = columns.lines.iter().filter_map(|line| line.send_lag).collect();
    let p99 = Sample::new(lags).ok()?.quantile(0.99)?;
    let median = median(columns.series(Metric::Ttft))?;
    let allowed = policy.send_lag_floor_s.max(policy.send_lag_share * median);
    (p99 > allowed).then(|| {
        format!(
            "the client sent late: send-lag p99 {:.1} ms, allowed {:.1} ms; see ttft_from_sent",
            p99 * 1e3,
            allowed * 1e3
        )
    })
}

fn growth(columns: &Columns) -> Option<f64> {
    let series: Vec<f64> = columns.lines.iter().filter_map(|line| line.ttft).collect();
    let parts = batches::split(&series, 4).ok()?;
    let (first, last) = (median(parts.first()?.to_vec())?, median(parts.last()?.to_vec())?);
    (first > 0.0 && first.is_finite()).then(|| last / first)
}
