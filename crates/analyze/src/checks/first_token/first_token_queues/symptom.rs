//! Whether first tokens wait.

use super::Params;
use crate::{
    case::Case,
    measure::{
        first_token_waits::FirstTokenWaits, gap_histogram::GapHistogram, latency_means::LatencyMeans,
        prefill_rate::PrefillRate, queue_tail::QueueTail,
    },
    side::Side,
};
use firstcheck_model::{
    evidence::RunEvidence,
    finding::Explained,
    measurement::{Fact, Missing},
};
use firstcheck_stats::quantile::Sample;

/// The symptom as it is told.
pub(super) struct Symptom {
    /// Whether it is there.
    pub counts: bool,
    /// What shows it.
    pub facts: Vec<Fact>,
    /// How much of the difference waits explain.
    pub explains: Option<Explained>,
}

/// By the client's requests, else by the server's histograms; what the requests lack is named where neither tells. A server
/// whose queue is short does not show that nobody waits: a wait in the client or in front of the core is not in it.
pub(super) fn told(case: &Case<'_>, params: &Params) -> Result<Symptom, Missing> {
    match case.side.measure::<FirstTokenWaits>() {
        Ok(waits) => {
            let symptom = by_requests(case, &waits, params);
            match case.side.measure::<PrefillRate>() {
                Err(missing) if !symptom.counts && all_are_late(case, &waits, params) => Err(missing),
                _ => Ok(symptom),
            }
        }
        Err(missing) => match by_histograms(case, params) {
            Ok(symptom) if symptom.counts => Ok(symptom),
            Err(of_server) if case.side.evidence.runs.iter().all(|run| run.requests.is_empty()) => Err(of_server),
            _ => Err(missing),
        },
    }
}

/// Whether first tokens as a whole are later than the base's by more than steps are slower: where all wait alike, only the
/// speed of prompts shows it.
fn all_are_late(case: &Case<'_>, waits: &FirstTokenWaits, params: &Params) -> bool {
    let base = case.base.and_then(|base| base.measure::<FirstTokenWaits>().ok());
    let slower = step(case.side).zip(case.base.and_then(step)).map_or(1.0, |(now, before)| f64::max(now / before, 1.0));
    base.is_some_and(|base| waits.median.value.0 >= (1.0 + params.rise) * slower * base.median.value.0)
}

fn by_requests(case: &Case<'_>, waits: &FirstTokenWaits, params: &Params) -> Symptom {
    let (tail, own) = (waits.tail.value.0, waits.own.value.0);
    let mut facts = vec![
        waits.tail.fact(format!(
            "{} of the waits for a first token is {}, {:.1} times what their prompts take ({})",
            waits.level_name(),
            ms(tail),
            waits.ratio,
            ms(own)
        )),
        waits.median.fact(format!("median time to first token {}", ms(waits.median.value.0))),
    ];
    let base = case.base.and_then(|base| base.measure::<FirstTokenWaits>().ok());
    let Some(base) = base else {
        let counts = tail >= params.knee * own && tail >= params.late;
        return Symptom { counts, facts, explains: None };
    };
    let before = base.at_level(waits.level).unwrap_or(base.tail.value.0);
    facts.push(base.tail.fact(format!(
        "base: {} of the waits {}, median time to first token {}",
        waits.level_name(),
        ms(before),
        ms(base.median.value.0)
    )));
    // The base's interval is at its own level; at another one its value alone stands against this side's interval.
    let apart = match (waits.tail.interval, base.tail.interval) {
        (Some((low, _)), Some((_, high))) if base.level == waits.level => low.0 > high.0,
        (Some((low, _)), _) => low.0 > before,
        _ => false,
    };
    let more = tail - before;
    let counts = apart
        && more >= params.rise * before
        && more >= params.matters * base.median.value.0
        && waits.ratio >= params.matters
        && more - longer_steps(case) >= params.noticed
        && step(case.side).is_none_or(|step| tail > params.steps * step);
    let mean = |side: &FirstTokenWaits| side.mean.value.0;
    let whole = |side: &FirstTokenWaits| {
        let answered = side.rows.iter().filter(|row| row.wait.is_finite());
        let (sum, n) = answered.fold((0.0, 0.0), |(sum, n), row| (sum + row.own + row.wait, n + 1.0));
        sum / f64::max(n, 1.0)
    };
    let delta = whole(waits) - whole(&base);
    let explains = (counts && delta > 0.0).then(|| Explained {
        metric: "mean time to first token".into(),
        delta,
        explained: mean(waits) - mean(&base),
        unit: "s".into(),
        basis: "rise of the mean wait beyond what prompts of the same length take".into(),
    });
    Symptom { counts, facts, explains }
}

/// By how much the steps that an arrival meets without any queue are longer than the base's, seconds. Of the one in hand the
/// wait is one and counts; the one that computes it is none, and is as much longer as usual steps are.
fn longer_steps(case: &Case<'_>) -> f64 {
    let usual = |side| in_hand(side, 0.5);
    usual(case.side).zip(case.base.and_then(usual)).map_or(0.0, |(now, before)| (now - before).max(0.0))
}

/// How long a step the requests up to that quantile meet when they arrive: the gap up to which streams spend such a share of
/// their time.
fn in_hand(side: &Side<'_>, level: f64) -> Option<f64> {
    let gaps = side.measure::<GapHistogram>().ok()?;
    let mut spent = 0.0;
    let mut cells = gaps.cells.iter();
    cells
        .find(|(gap, times)| {
            spent += gap * *times as f64;
            spent >= level * gaps.total
        })
        .map(|(gap, _)| *gap)
}

/// Median time per output token: about a step.
fn step(side: &Side<'_>) -> Option<f64> {
    let requests = side.evidence.runs.iter().flat_map(RunEvidence::window);
    let each = requests.filter_map(|(_, request)| Some(request.tpot()?.0)).filter(|tpot| tpot.is_finite()).collect();
    Sample::new(each).ok()?.quantile(0.5)
}

fn by_histograms(case: &Case<'_>, params: &Params) -> Result<Symptom, Missing> {
    let tail = case.side.measure::<QueueTail>()?;
    let means = case.side.measure::<LatencyMeans>()?;
    let own = (means.ttft.value.0 - means.queue.value.0).max(0.0);
    let name = format!("p{:.0}", tail.level * 100.0);
    let mut facts = vec![
        tail.wait.fact(format!("{name} of the waits for admission lies {}", bucket(&tail))),
        means.ttft.fact(format!(
            "mean time to first token at the server {}, of which {} in the queue",
            ms(means.ttft.value.0),
            ms(means.queue.value.0)
        )),
    ];
    let base = |side: &Side<'_>| Some((side.measure::<QueueTail>().ok()?, side.measure::<LatencyMeans>().ok()?));
    let low = tail.wait.value.0;
    let Some((before, base_means)) = case.base.and_then(base) else {
        return Ok(Symptom { counts: low >= params.knee * own && low >= params.late, facts, explains: None });
    };
    facts.push(before.wait.fact(format!("base: {}", bucket(&before))));
    let high = before.wait.interval.map_or(f64::INFINITY, |(_, high)| high.0);
    let more = low - high;
    let counts = low > high && more >= params.rise * high && more >= params.matters * base_means.ttft.value.0.max(own);
    let delta = means.ttft.value.0 - base_means.ttft.value.0;
    let explains = (counts && delta > 0.0).then(|| Explained {
        metric: "mean time to first token at the server".into(),
        delta,
        explained: means.queue.value.0 - base_means.queue.value.0,
        unit: "s".into(),
        basis: "rise of the mean queue wait, histogram means".into(),
    });
    Ok(Symptom { counts, facts, explains })
}

fn bucket(tail: &QueueTail) -> String {
    let (low, high) = tail.wait.interval.map_or((0.0, f64::INFINITY), |(low, high)| (low.0, high.0));
    if high.is_finite() { format!("between {} and {}", ms(low), ms(high)) } else { format!("above {}", ms(low)) }
}

/// `18.6 ms`, or `3.20 s` from a second on.
pub(super) fn ms(seconds: f64) -> String {
    match seconds {
        s if s.is_infinite() => "without end".into(),
        s if s >= 1.0 => format!("{s:.2} s"),
        s => format!("{:.1} ms", s * 1e3),
    }
}
