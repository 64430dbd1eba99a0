//! What other ways to compare say of the same runs.

use firstcheck_model::evidence::RunEvidence;
use firstcheck_stats::{quantile::Sample, student, welch::welch};

/// TTFT of a run's requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies {
    /// Seconds, `+∞` for a request without its first token.
    pub ttft: Vec<f64>,
}

/// Another way to compare two sides by TTFT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rival {
    /// Welch's t on the runs' p95, the sides unpaired, at 5 % two-sided.
    RunWelch,
    /// Mann and Whitney's test over all requests of all runs, at 5 % two-sided.
    RequestRanks,
    /// The same over one run a side.
    RequestRanksOnce,
    /// The mean p95 differs by more than 10 %.
    Threshold,
    /// The p95 of one run a side differs by more than 10 %.
    ThresholdOnce,
}

/// The share by which a threshold calls a difference one.
const THRESHOLD: f64 = 0.10;
/// Two-sided error of the tests.
const ALPHA: f64 = 0.05;
/// The quantile that is compared.
const P: f64 = 0.95;

impl Latencies {
    /// Of the requests in the run's window.
    pub fn of(run: &RunEvidence) -> Self {
        let ttft = run.window().map(|(_, request)| request.ttft().map_or(f64::INFINITY, |seconds| seconds.0));
        Self { ttft: ttft.collect() }
    }

    fn p95(&self) -> Option<f64> {
        Sample::new(self.ttft.clone()).ok()?.quantile(P).filter(|value| value.is_finite())
    }
}

impl Rival {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::RunWelch, Self::RequestRanks, Self::RequestRanksOnce, Self::Threshold, Self::ThresholdOnce];

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RunWelch => "Welch's t on the p95 of 8 runs a side",
            Self::RequestRanks => "Mann-Whitney over the requests of 8 runs a side",
            Self::RequestRanksOnce => "Mann-Whitney over the requests of one run a side",
            Self::Threshold => "10 % threshold on the mean p95 of 8 runs a side",
            Self::ThresholdOnce => "10 % threshold on the p95 of one run a side",
        }
    }

    /// Whether it says that the two sides differ; `None` where it has no value to go by.
    pub fn says_different(self, base: &[Latencies], candidate: &[Latencies]) -> Option<bool> {
        match self {
            Self::RunWelch => {
                let quantiles = |runs: &[Latencies]| runs.iter().map(Latencies::p95).collect::<Option<Vec<f64>>>();
                let estimate = welch(&quantiles(base)?, &quantiles(candidate)?).ok()?;
                let t = estimate.t(0.0)?.abs();
                Some(2.0 * student::upper_tail(t, estimate.nu).ok()? < ALPHA)
            }
            Self::RequestRanks => Some(ranks_differ(&all(base), &all(candidate))),
            Self::RequestRanksOnce => Some(ranks_differ(&base.first()?.ttft, &candidate.first()?.ttft)),
            Self::Threshold => beyond(mean_p95(base)?, mean_p95(candidate)?),
            Self::ThresholdOnce => beyond(base.first()?.p95()?, candidate.first()?.p95()?),
        }
    }
}

fn all(runs: &[Latencies]) -> Vec<f64> {
    runs.iter().flat_map(|run| run.ttft.iter().copied()).collect()
}

fn mean_p95(runs: &[Latencies]) -> Option<f64> {
    let quantiles: Option<Vec<f64>> = runs.iter().map(Latencies::p95).collect();
    let quantiles = quantiles.filter(|quantiles| !quantiles.is_empty())?;
    Some(quantiles.iter().sum::<f64>() / quantiles.len() as f64)
}

fn beyond(base: f64, candidate: f64) -> Option<bool> {
    (base > 0.0).then(|| (candidate / base - 1.0).abs() > THRESHOLD)
}

/// The normal approximation of Mann and Whitney's U, ties in the mean rank (their correction of the variance is left
/// out: latencies hardly tie).
fn ranks_differ(base: &[f64], candidate: &[f64]) -> bool {
    let mut values: Vec<(f64, bool)> =
        base.iter().map(|v| (*v, false)).chain(candidate.iter().map(|v| (*v, true))).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut at) = (0.0, 0);
    while at < values.len() {
        let tied = values[at..].iter().take_while(|(value, _)| *value == values[at].0).count();
        let rank = at as f64 + (tied + 1) as f64 / 2.0;
        sum += rank * values[at..at + tied].iter().filter(|(_, candidate)| *candidate).count() as f64;
        at += tied;
    }
    let (m, n) = (base.len() as f64, candidate.len() as f64);
    let u = sum - n * (n + 1.0) / 2.0;
    let z = (u - m * n / 2.0) / (m * n * (m + n + 1.0) / 12.0).sqrt();
    z.abs() > NORMAL_975
}

/// The 97.5 % quantile of the normal distribution.
const NORMAL_975: f64 = 1.959_963_984_540_054;
