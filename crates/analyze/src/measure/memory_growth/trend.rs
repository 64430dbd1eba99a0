//! The trend of a level over time: how much it grew, how noisy it is, whether it goes one way.

use firstcheck_model::moment::Moment;
use firstcheck_stats::rank::spearman;

/// Samples of a level with its trend.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// When.
    pub at: Vec<Moment>,
    /// Bytes.
    pub bytes: Vec<f64>,
    /// Mean of the last samples less that of the first.
    pub growth: f64,
    /// Mean of the last samples less the very first one: what was added in all, noise included.
    pub added: f64,
    /// Mean of the first samples.
    pub start: f64,
    /// Standard deviation about the trend: a straight line or a curve leave none.
    pub noise: f64,
    /// Rank correlation with time; 0 where nothing changes.
    pub steady: f64,
}

impl Trend {
    /// The trend of samples in time order; `None` for fewer than three.
    pub fn of(at: Vec<Moment>, bytes: Vec<f64>) -> Option<Self> {
        if bytes.len() < 3 || at.len() != bytes.len() {
            return None;
        }
        let some = (bytes.len() / 10).max(1);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let (start, end) = (mean(&bytes[..some]), mean(&bytes[bytes.len() - some..]));
        let times: Vec<f64> = (0..bytes.len()).map(|place| place as f64).collect();
        let steady = spearman(&times, &bytes).ok().flatten().unwrap_or(0.0);
        Some(Self { growth: end - start, added: end - bytes[0], start, noise: noise(&bytes), steady, at, bytes })
    }
}

/// From second differences, which a trend hardly has: their median size over 0.6745 estimates their deviation, which is √6
/// times that of a sample.
fn noise(bytes: &[f64]) -> f64 {
    let mut second: Vec<f64> = bytes.windows(3).map(|three| (three[0] - 2.0 * three[1] + three[2]).abs()).collect();
    second.sort_by(f64::total_cmp);
    second.get(second.len() / 2).map_or(0.0, |median| median / 0.6745 / 6f64.sqrt())
}
