//! What the runs of one mix say together.

use firstcheck_model::{
    report::Quantity,
    sweep::{Breaks, Curve, LevelRow},
};
use firstcheck_stats::{
    Error,
    crossing::{self, Crossing},
    goodput::Counts,
};

/// What decides a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePolicy {
    /// Share of the offered requests that has to meet the objective.
    pub target_share: f64,
    /// Confidence of the interval of the breaking rate.
    pub confidence: f64,
    /// Runs at rates within this factor of the breaking one are fitted: farther away the curve is another.
    pub near: f64,
    /// p95 TTFT over that at the lowest rate from which the curve is beyond its knee.
    pub knee_ratio: f64,
    /// GPUs of the deployment, where they are known.
    pub gpus: Option<f64>,
    /// Cost of a GPU-hour, where it is known.
    pub cost_per_gpu_hour: Option<f64>,
}

impl Default for CurvePolicy {
    fn default() -> Self {
        Self { target_share: 0.95, confidence: 0.95, near: 1.5, knee_ratio: 2.0, gpus: None, cost_per_gpu_hour: None }
    }
}

/// Where the share of good requests crosses the wanted one, over the logarithm of the rate.
///
/// `None` where the levels are on one side of it, or tell no slope.
///
/// # Errors
/// Rates that are none.
pub fn breaking(levels: &[LevelRow], policy: &CurvePolicy) -> Result<Option<Crossing>, Error> {
    let points: Vec<(f64, Counts)> = levels.iter().filter_map(point).collect();
    let meets = |(_, counts): &&(f64, Counts)| counts.share() >= policy.target_share;
    let highest_good = points.iter().filter(meets).map(|(x, _)| *x).max_by(f64::total_cmp);
    let lowest_bad = points.iter().filter(|point| !meets(point)).map(|(x, _)| *x).min_by(f64::total_cmp);
    let Some((good, bad)) = highest_good.zip(lowest_bad) else { return Ok(None) };
    let (mut centre, mut found) = (f64::midpoint(good, bad), None);
    // The window moves with what is found in it, a few times.
    for _ in 0..4 {
        let width = policy.near.ln().max((good - bad).abs());
        let near: Vec<(f64, Counts)> = points.iter().copied().filter(|(x, _)| (x - centre).abs() <= width).collect();
        let Some(crossing) = crossing::crossing(&near, policy.target_share, policy.confidence)? else { break };
        if crossing.slope >= 0.0 {
            break;
        }
        let low = near.iter().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
        let high = near.iter().map(|(x, _)| *x).fold(f64::NEG_INFINITY, f64::max);
        if crossing.at < low || crossing.at > high {
            break;
        }
        centre = crossing.at;
        found = Some(crossing);
    }
    Ok(found)
}

fn point(level: &LevelRow) -> Option<(f64, Counts)> {
    let share = level.good_share.filter(|_| level.invalid.is_empty())?;
    let good = (share * level.offered as f64).round() as u64;
    Some((level.rate.ln(), Counts::new(good.min(level.offered), level.offered).ok()?))
}

/// What `levels` say.
///
/// # Errors
/// As [`breaking`].
pub fn curve(length_cv: Option<f64>, levels: Vec<LevelRow>, policy: &CurvePolicy) -> Result<Curve, Error> {
    let crossing = breaking(&levels, policy)?;
    let breaks = crossing.map(|crossing| {
        let rate = crossing.at.exp();
        let gpu_hours = policy.gpus.map(|gpus| gpus / (rate * policy.target_share) / 3_600.0);
        Breaks {
            rate,
            interval: crossing.interval.map(|interval| [interval.lo.exp(), interval.hi.exp()]),
            confidence: policy.confidence,
            runs: crossing.runs as u64,
            gpu_hours_per_good: gpu_hours,
            cost_per_good: gpu_hours.zip(policy.cost_per_gpu_hour).map(|(hours, cost)| hours * cost),
        }
    });
    let (knee, steady) = (knee(&levels, policy.knee_ratio), steady(&levels));
    let why = why(&levels, breaks.as_ref(), policy);
    Ok(Curve { length_cv, levels, breaks, knee, steady, why })
}

/// Highest rate below the first at which the p95 TTFT exceeds `ratio` times that at the lowest rate, on the straight line
/// between both in logarithms.
fn knee(levels: &[LevelRow], ratio: f64) -> Option<f64> {
    let valid = levels.iter().filter(|level| level.invalid.is_empty());
    let mut tails: Vec<(f64, f64)> = valid
        .filter_map(|level| Some((level.rate.ln(), level.ttft_p95?.finite().map_or(f64::INFINITY, f64::ln))))
        .collect();
    tails.sort_by(|a, b| a.0.total_cmp(&b.0));
    let bound = tails.first().filter(|(_, tail)| tail.is_finite())?.1 + ratio.ln();
    let beyond = tails.iter().position(|(_, tail)| *tail > bound)?;
    let ((x0, y0), (x1, y1)) = (tails[beyond - 1], tails[beyond]);
    let part = if y1.is_finite() { (bound - y0) / (y1 - y0) } else { 0.0 };
    Some((x0 + part.clamp(0.0, 1.0) * (x1 - x0)).exp())
}

/// Highest rate without a growing queue below the lowest with one.
fn steady(levels: &[LevelRow]) -> Option<f64> {
    let of = |grew: bool| {
        levels
            .iter()
            .filter(move |level| level.invalid.is_empty() && level.queue_grew == Some(grew))
            .map(|level| level.rate)
    };
    let grows = of(true).min_by(f64::total_cmp).unwrap_or(f64::INFINITY);
    of(false).filter(|rate| *rate < grows).max_by(f64::total_cmp)
}

fn why(levels: &[LevelRow], breaks: Option<&Breaks>, policy: &CurvePolicy) -> Vec<String> {
    let mut why = Vec::new();
    let share = policy.target_share * 100.0;
    let meets = |level: &&LevelRow| level.good_share.is_some_and(|share| share >= policy.target_share);
    let valid: Vec<&LevelRow> = levels.iter().filter(|level| level.invalid.is_empty()).collect();
    let highest = valid.iter().map(|level| level.rate).max_by(f64::total_cmp);
    let lowest = valid.iter().map(|level| level.rate).min_by(f64::total_cmp);
    match (breaks, lowest.zip(highest)) {
        (Some(Breaks { rate, interval: Some([low, high]), .. }), _) => why.push(format!(
            "{share:.0} % of the requests meet the objective up to {rate:.2} requests a second ({low:.2} … {high:.2})"
        )),
        (Some(Breaks { rate, .. }), _) => why.push(format!(
            "{share:.0} % of the requests meet the objective up to about {rate:.2} requests a second; too few runs for an \
             interval"
        )),
        (None, None) => why.push("no run may be believed".into()),
        (None, Some((_, highest))) if valid.iter().all(meets) => {
            why.push(format!("the objective does not break up to {highest:.2} requests a second: raise --highest"));
        }
        (None, Some((lowest, _))) if !valid.iter().any(meets) => why.push(format!(
            "the objective is broken at {lowest:.2} requests a second already: it is not the rate that breaks it, or lower \
             --lowest"
        )),
        (None, Some(_)) => why.push("the runs do not tell where the objective breaks: more of them, or longer ones".into()),
    }
    let unusable = levels.len() - valid.len();
    if unusable > 0 {
        why.push(format!("{unusable} of {} runs may not be believed and are left out", levels.len()));
    }
    let unanswered = valid.iter().filter(|level| level.ttft_p95 == Some(Quantity::Unbounded)).count();
    if unanswered > 0 {
        why.push(format!("in {unanswered} runs 5 % of the requests or more were not answered"));
    }
    why
}
