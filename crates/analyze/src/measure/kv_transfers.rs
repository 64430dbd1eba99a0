//! Transfers of KV between a prefill and a decode pool, as the engine counts them.

use super::{
    counters::{growth_in, mean_in},
    first_token_waits::union,
};
use crate::{
    measure::trusted_counters::TrustedCounters,
    side::{Measure, Side},
};
use firstcheck_model::{
    engine_log::{KvAction, KvOperation},
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source},
    signal::{Part, Signal},
    unit::{Bytes, Count, Seconds},
};

/// Means of the transfers of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct KvTransfers {
    /// Length of one.
    pub length: Measurement<Seconds>,
    /// Of that the time to hand it to the network.
    pub post: Option<f64>,
    /// Its size.
    pub bytes: Option<Measurement<Bytes>>,
    /// Pieces that it consists of.
    pub pieces: Option<Measurement<Count>>,
    /// All lengths together over the time between readings in which transfers ended: a link on which only requests travel
    /// that were given up is taken as well, and counts none. `None` where that time is not known.
    pub busy: Option<f64>,
}

impl Measure for KvTransfers {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        of_pages(side).or_else(|missing| of_logs(side).ok_or(missing))
    }
}

fn of_pages(side: &Side<'_>) -> Result<KvTransfers, Missing> {
    side.measure::<TrustedCounters>()?;
    let runs = &side.evidence.runs;
    let length = mean_in(runs, Signal::KvTransferTime)?;
    let mean = |signal| mean_in(runs, signal).ok();
    let whole = growth_in(runs, Signal::KvTransferTime, Part::Sum)?.value;
    let over: f64 = runs.iter().map(time_with_transfers).sum();
    let plain = |of: Option<Measurement<Seconds>>| of.map(|of| of.value.0);
    let bytes = mean(Signal::KvTransferBytes);
    let pieces = mean(Signal::KvTransferDescriptors);
    Ok(KvTransfers {
        length,
        post: plain(mean(Signal::KvTransferPost)),
        bytes: bytes.map(|of| Measurement { value: Bytes(of.value.0), interval: None, n: of.n, source: of.source }),
        pieces: pieces.map(|of| Measurement { value: Count(of.value.0), interval: None, n: of.n, source: of.source }),
        busy: (over > 0.0).then(|| whole / over),
    })
}

/// Time between readings of a run's pages in which any of them counted a transfer, seconds.
fn time_with_transfers(run: &RunEvidence) -> f64 {
    let Some((start, end)) = run.span().and_then(|window| Some((window.start.seconds()?, window.end.seconds()?)))
    else {
        return 0.0;
    };
    let mut spans = Vec::new();
    for series in run.series(Signal::KvTransferTime, Part::Count) {
        let grown = series.at.windows(2).zip(series.value.windows(2)).filter(|(_, value)| value[1] > value[0]);
        let inside = grown.filter_map(|(at, _)| Some((at[0].seconds()?.max(start), at[1].seconds()?.min(end))));
        spans.extend(inside.filter(|(from, to)| to > from));
    }
    union(spans).iter().map(|(from, to)| to - from).sum()
}

/// Statistics lines: means of each interval, weighted by its transfers.
fn of_logs(side: &Side<'_>) -> Option<KvTransfers> {
    let logs = side.evidence.logs.iter();
    let all: Vec<(&str, &KvOperation)> = logs
        .flat_map(|log| log.kv_operations.iter().map(move |operation| (log.label.as_str(), operation)))
        .filter(|(_, operation)| operation.action == KvAction::Transfer && operation.count > 0)
        .collect();
    let from: Vec<Source> = all.iter().take(3).map(|(label, operation)| Source::line(*label, operation.line)).collect();
    let source = |by: &str| Source::Derived { by: by.into(), from: from.clone() };
    let mean = |of: fn(&KvOperation) -> Option<f64>| {
        let known = || all.iter().filter_map(|(_, one)| Some((of(one)?, one.count)));
        let n: u64 = known().map(|(_, count)| count).sum();
        (n > 0).then(|| (known().map(|(value, count)| value * count as f64).sum::<f64>() / n as f64, n))
    };
    let (length, n) = mean(|one| one.length.map(|length| length.0))?;
    let bytes = mean(|one| one.bytes.map(|bytes| bytes.0 / one.count as f64));
    Some(KvTransfers {
        length: Measurement { value: Seconds(length), interval: None, n, source: source("mean transfer of KV, log") },
        post: mean(|one| one.post.map(|post| post.0)).map(|(post, _)| post),
        bytes: bytes.map(|(value, n)| Measurement {
            value: Bytes(value),
            interval: None,
            n,
            source: source("mean size, log"),
        }),
        pieces: mean(|one| one.descriptors).map(|(value, n)| Measurement {
            value: Count(value),
            interval: None,
            n,
            source: source("mean pieces, log"),
        }),
        busy: None,
    })
}

/// Whether any run shows that KV is transferred, or that there are two pools.
pub(crate) fn two_pools(runs: &[RunEvidence]) -> bool {
    let transfers = |run: &RunEvidence| run.series(Signal::KvTransferTime, Part::Count).next().is_some();
    let named = |run: &RunEvidence| {
        let pool = |page: &str| page.starts_with("prefill") || page.starts_with("decode");
        run.signals.iter().any(|series| pool(&series.page) || series.labels.get("replica").is_some_and(pool))
    };
    runs.iter().any(|run| transfers(run) || named(run))
}
