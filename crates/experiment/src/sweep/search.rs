//! At which rate to run next: pure, so that a sweep goes on where it was interrupted.

use firstcheck_analyze::sweep::{CurvePolicy, breaking};
use firstcheck_model::sweep::LevelRow;

/// How a search goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// Rate of the first run.
    pub start: f64,
    /// No rate below it is run.
    pub lowest: f64,
    /// No rate above it is run.
    pub highest: f64,
    /// Half width of the breaking rate's interval at which it is known well enough, relative.
    pub precision: f64,
    /// Fewest runs behind an interval.
    pub least_runs: u32,
    /// Most runs.
    pub most_runs: u32,
    /// What decides a curve.
    pub curve: CurvePolicy,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Run at this rate.
    Run(f64),
    /// It is known, or cannot be.
    Done,
}

/// Factor between rates while no rate is known at which it breaks, or none at which it holds.
const STRIDE: f64 = 2.0;
/// Ratio of the ends at which the bracket is narrow enough for repeats.
const NARROW: f64 = 1.2;
/// Part of the breaking rate at which a run shows the level of the p95 TTFT at low load.
const LOW_LOAD: f64 = 0.3;
/// Rates of repeats, as parts of the breaking rate: both sides of it, by turns.
const REPEATS: [f64; 6] = [0.95, 1.05, 0.88, 1.1, 0.98, 1.02];

impl Search {
    /// What to do after `levels`, in the order in which they were run.
    ///
    /// # Errors
    /// Levels that cannot be computed with.
    pub fn next(&self, levels: &[LevelRow]) -> Result<Next, firstcheck_stats::Error> {
        if levels.len() as u32 >= self.most_runs {
            return Ok(Next::Done);
        }
        let of = |meets: bool| {
            let told = levels.iter().filter(|level| level.invalid.is_empty());
            told.filter(move |level| level.good_share.is_some_and(|s| (s >= self.curve.target_share) == meets))
                .map(|level| level.rate)
        };
        let good = of(true).max_by(f64::total_cmp);
        let bad = of(false).min_by(f64::total_cmp);
        Ok(match (good, bad) {
            (None, None) if levels.is_empty() => Next::Run(self.start.clamp(self.lowest, self.highest)),
            // Runs that tell nothing: the same rate once more, until their number is up.
            (None, None) => Next::Run(levels.last().map_or(self.start, |level| level.rate)),
            (Some(good), None) if good >= self.highest => Next::Done,
            (Some(good), None) => Next::Run((good * STRIDE).min(self.highest)),
            (None, Some(bad)) if bad <= self.lowest => Next::Done,
            (None, Some(bad)) => Next::Run((bad / STRIDE).max(self.lowest)),
            (Some(good), Some(bad)) if bad / good > NARROW => Next::Run((good * bad).sqrt()),
            (Some(good), Some(bad)) => self.repeat(levels, (good * bad).sqrt())?,
        })
    }

    /// Repeats around the breaking rate until it is known well enough.
    fn repeat(&self, levels: &[LevelRow], about: f64) -> Result<Next, firstcheck_stats::Error> {
        let crossing = breaking(levels, &self.curve)?;
        let at = crossing.map_or(about, |crossing| crossing.at.exp());
        let low = (at * LOW_LOAD).max(self.lowest);
        if levels.iter().all(|level| level.rate > at / STRIDE) && low < at / STRIDE {
            return Ok(Next::Run(low));
        }
        let known = crossing.is_some_and(|crossing| {
            let narrow = crossing.interval.is_some_and(|interval| (interval.hi - interval.lo) / 2.0 <= self.precision);
            narrow && crossing.runs as u32 >= self.least_runs
        });
        if known {
            return Ok(Next::Done);
        }
        let rate = at * REPEATS[levels.len() % REPEATS.len()];
        Ok(Next::Run(rate.clamp(self.lowest, self.highest)))
    }
}
