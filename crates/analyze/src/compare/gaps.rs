//! Gap quantiles of streams: inter-token latency and event gap.

use super::{columns::Columns, plan::Key, policy::Policy, reading::Cell};
use firstcheck_model::{
    distribution::Distribution,
    evidence::RunEvidence,
    metric::{Metric, Stat},
};

/// The cell of a gap metric; `None` where the run has no events.
///
/// Tokens of a request that was never answered count as `+∞`, as many as an answered request has on average: with a
/// share f of them unanswered, the p quantile is the p/(1 − f) quantile of the gaps that came.
pub(super) fn cell(run: &RunEvidence, columns: &Columns, key: Key, policy: &Policy) -> Option<Cell> {
    let streams = run.streams.as_ref()?;
    let gaps = if key.metric == Metric::Itl { &streams.itl } else { &streams.event_gaps };
    match key.stat {
        Stat::Mean => Some(Cell::over(gaps.mean().map(|s| s.0), gaps.count())),
        Stat::Quantile(p) => {
            let offered = columns.lines.len().max(1) as f64;
            let answered = 1.0 - columns.unanswered() as f64 / offered;
            let mut cell = Cell::over(at(gaps, p, answered), gaps.count());
            cell.jump = jump(gaps, p, answered, policy.continuity);
            cell.doubt = streams.coalesced_share().filter(|share| *share > policy.coalesced_share).map(|share| {
                format!(
                    "{:.1} % of event gaps are shorter than 50 µs (allowed {:.0} %): events arrived in bursts, so gap \
                     quantiles say nothing of the server's pace",
                    share * 100.0,
                    policy.coalesced_share * 100.0
                )
            });
            Some(cell)
        }
        _ => None,
    }
}

fn at(gaps: &Distribution, p: f64, answered: f64) -> Option<f64> {
    if gaps.count() == 0 {
        return None;
    }
    if p > answered { Some(f64::INFINITY) } else { gaps.quantile(p / answered).map(|s| s.0) }
}

/// Why the quantile may not be gated: around it the gaps jump from one regime to another.
fn jump(gaps: &Distribution, p: f64, answered: f64, limit: f64) -> Option<String> {
    // Among the unanswered it is no level of the pace, but their share decides it, as of any latency.
    if p > answered {
        return None;
    }
    let h = ((1.0 - p) / 2.0).min(0.02);
    let (below, above) = (at(gaps, p - h, answered)?, at(gaps, p + h, answered)?);
    if below <= 0.0 {
        return Some("gaps of zero (several tokens an event) reach up to it".into());
    }
    (above / below >= limit).then(|| {
        format!(
            "it lies on a jump between regimes: q(p+h)/q(p−h) = {:.2}, a level has less than {limit}",
            above / below
        )
    })
}
