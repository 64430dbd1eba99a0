//! The last third of a run: what a deployment settled at, whatever happened before.

use super::{arrivals, arrivals::Arrived, counters::runs_of};
use crate::{
    side::{Measure, Side},
    split::split,
};
use firstcheck_model::{
    evidence::{Evidence, RunEvidence},
    measurement::{Measurement, Missing, Source, Why},
    moment::{Moment, Window},
    request::Fate,
    signal::{Part, Signal},
    unit::{Count, Ratio, Seconds},
};
use firstcheck_stats::{quantile::Sample, rank::spearman};

/// The last third of each run's window.
#[derive(Debug, Clone)]
pub struct LastThird {
    /// The side with its windows cut to it: measurements of it are those of the last third.
    pub evidence: Evidence,
    /// When it begins, on the clock of the first run.
    pub from: Moment,
    /// Median time to first token with its 99 % interval; unanswered requests count as +∞.
    pub ttft: Measurement<Seconds>,
    /// Requests that the clients sent.
    pub sent: Arrived,
    /// Requests that arrived at the servers, where their pages tell.
    pub arrived: Option<Arrived>,
    /// Share of the requests that were given up or refused.
    pub gave_up: Measurement<Ratio>,
}

/// Requests of the last third of which a median is told.
const FEWEST: u64 = 20;

impl Measure for LastThird {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let start = |run: &RunEvidence| {
            let span = run.span()?;
            Some(span.start.plus_ns(span.end.ns_since(span.start)? / 3 * 2))
        };
        let (_, evidence) = split(side.evidence, start);
        let rows = || evidence.runs.iter().flat_map(RunEvidence::window).map(|(_, request)| request);
        let all: Vec<f64> = rows().filter_map(|request| Some(request.ttft()?.0)).collect();
        let n = all.len() as u64;
        let few = || Missing {
            what: "times to first token in the last third of the window".into(),
            why: if n == 0 { Why::NotGiven } else { Why::TooFew { have: n, need: FEWEST } },
            obtain: "firstcheck run --url URL".into(),
        };
        if n < FEWEST {
            return Err(few());
        }
        let source = Source::Derived { by: "the last third of the window".into(), from: runs_of(&evidence.runs) };
        let sample = Sample::new(all).map_err(|_| few())?;
        let bounds = sample.order_interval(0.5, 0.99).map_err(|_| few())?;
        let interval = bounds.lo.zip(bounds.hi).map(|(lo, hi)| (Seconds(lo), Seconds(hi)));
        let median = sample.quantile(0.5).ok_or_else(few)?;
        let gave_up = rows().filter(|request| request.fate != Fate::Completed).count() as f64 / n as f64;
        let (Some(from), Some(sent)) = (side.evidence.runs.iter().find_map(start), total(&evidence, arrivals::sent))
        else {
            return Err(few());
        };
        Ok(Self {
            from,
            sent,
            arrived: total(&evidence, arrivals::arrived),
            ttft: Measurement { value: Seconds(median), interval, n, source: source.clone() },
            gave_up: Measurement { value: Ratio(gave_up), interval: None, n, source },
            evidence,
        })
    }
}

/// What arrived over the windows of all runs: each deployment for itself, so times add up as well.
pub fn total(evidence: &Evidence, of: fn(&RunEvidence, Window) -> Option<Arrived>) -> Option<Arrived> {
    let each: Option<Vec<Arrived>> = evidence.runs.iter().map(|run| of(run, run.span()?)).collect();
    let each = each.filter(|each| !each.is_empty())?;
    let count = each.iter().map(|one| one.count).sum();
    Some(Arrived { count, over: Seconds(each.iter().map(|one| one.over.0).sum()) })
}

/// Requests that wait on one replica: the median over the scrapes of the window, of the replica where it is highest.
///
/// # Errors
/// No page shows them.
pub fn queue(evidence: &Evidence) -> Result<Measurement<Count>, Missing> {
    let mut most: Option<Measurement<Count>> = None;
    for run in &evidence.runs {
        for series in run.series(Signal::Waiting, Part::Value) {
            let values: Vec<f64> = series.inside(run.info.window).map(|(_, value)| value).collect();
            let n = values.len() as u64;
            let Some(median) = Sample::new(values).ok().and_then(|sample| sample.quantile(0.5)) else { continue };
            if most.as_ref().is_none_or(|known| median > known.value.0) {
                let at = |moment: Option<&Moment>| moment.copied().unwrap_or(Moment::NEVER);
                let source = Source::Series {
                    run: run.info.id.clone(),
                    name: series.name.clone(),
                    labels: series.labels.render(),
                    from_ns: at(series.at.first()),
                    to_ns: at(series.at.last()),
                };
                most = Some(Measurement { value: Count(median), interval: None, n, source });
            }
        }
    }
    let obtain = "scrape /metrics during the window: firstcheck run --url URL --scrape-interval 1s";
    most.ok_or_else(|| Missing::not_exposed("waiting requests during the window", obtain))
}

/// Requests that wait on all replicas at the start of a window and at its end, by the scrapes in it; `None` where no page
/// shows them.
pub fn queue_from_to(evidence: &Evidence) -> Option<(f64, f64)> {
    let series = evidence.runs.iter().flat_map(|run| {
        run.series(Signal::Waiting, Part::Value).filter_map(|series| {
            let mut inside = series.inside(run.info.window).map(|(_, value)| value);
            let first = inside.next()?;
            Some((first, inside.last().unwrap_or(first)))
        })
    });
    series.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Rank correlation of time to first token and prompt tokens found in the cache, over answered requests.
///
/// # Errors
/// The server does not say what it found for each request, or it found the same for all.
pub fn wait_against_cached(evidence: &Evidence) -> Result<Measurement<Ratio>, Missing> {
    let rows = evidence.runs.iter().flat_map(RunEvidence::window).map(|(_, request)| request);
    let pairs =
        rows.filter_map(|r| Some((r.ttft()?.0, f64::from(r.cached_tokens?)))).filter(|(ttft, _)| ttft.is_finite());
    let (waits, cached): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let n = waits.len() as u64;
    let rho = spearman(&waits, &cached).ok().flatten().filter(|_| n >= FEWEST);
    let missing = || {
        let obtain = "send with usage in the stream: firstcheck run --url URL; SGLang needs --enable-cache-report";
        Missing::not_exposed("cached tokens of each request", obtain)
    };
    let value = rho.ok_or_else(missing)?;
    let source =
        Source::Derived { by: "rank correlation of TTFT and cached tokens".into(), from: runs_of(&evidence.runs) };
    Ok(Measurement { value: Ratio(value), interval: None, n, source })
}
