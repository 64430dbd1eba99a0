//! The moments at which requests waited for admission, and what the engine had left at each.

use super::{
    counters::runs_of,
    replicas::{same_engine, together},
    trusted_counters::TrustedCounters,
};
use crate::side::{Measure, Side};
use firstcheck_model::{
    measurement::{Measurement, Missing, Source, Why},
    signal::{Part, Signal},
    unit::{Count, Ratio},
};

/// One scrape of one replica at which requests waited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waiting {
    /// When, seconds on the run's clock.
    pub at: f64,
    /// How many waited.
    pub waiting: f64,
    /// How many ran, where the page says so.
    pub running: Option<f64>,
    /// Share of the KV pool in use, where the page says so.
    pub usage: Option<f64>,
}

/// Scrapes inside the windows, and those of them at which requests waited.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingMoments {
    /// Scrapes of all replicas.
    pub scrapes: u64,
    /// Those at which somebody waited.
    pub moments: Vec<Waiting>,
    /// Most that waited on one replica.
    pub most: Measurement<Count>,
    source: Source,
}

/// Scrapes of which shares are told.
const FEWEST: u64 = 5;

impl Measure for WaitingMoments {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        side.measure::<TrustedCounters>()?;
        let (mut scrapes, mut moments) = (0, Vec::new());
        for run in &side.evidence.runs {
            for series in run.series(Signal::Waiting, Part::Value) {
                scrapes += series.inside(run.info.window).count() as u64;
                let of = |signal: Signal| {
                    let there =
                        run.series(signal, Part::Value).any(|s| s.page == series.page && same_engine(s, series));
                    there.then(|| together(run, series, signal).map(|(_, other)| other).collect::<Vec<f64>>())
                };
                let samples: Vec<(f64, f64)> =
                    series.inside(run.info.window).map(|(at, value)| (at.seconds().unwrap_or(0.0), value)).collect();
                // Where a scrape lacks a gauge that others have, nothing is paired with the wrong one.
                let paired = |signal| of(signal).filter(|values| values.len() == samples.len());
                let (running, usage) = (paired(Signal::Running), paired(Signal::KvCacheUsage));
                moments.extend(samples.iter().enumerate().filter(|(_, (_, waiting))| *waiting > 0.0).map(
                    |(place, (at, waiting))| Waiting {
                        at: *at,
                        waiting: *waiting,
                        running: running.as_ref().map(|values| values[place]),
                        usage: usage.as_ref().map(|values| values[place]),
                    },
                ));
            }
        }
        if scrapes < FEWEST {
            return Err(Missing {
                what: "scrapes of waiting requests during the window".into(),
                why: Why::TooFew { have: scrapes, need: FEWEST },
                obtain: "firstcheck run --url URL --scrape-interval 1s".into(),
            });
        }
        let source =
            Source::Derived { by: "scrapes at which requests waited".into(), from: runs_of(&side.evidence.runs) };
        let most = moments.iter().map(|moment| moment.waiting).fold(0.0, f64::max);
        let most = Measurement { value: Count(most), interval: None, n: scrapes, source: source.clone() };
        Ok(Self { scrapes, moments, most, source })
    }
}

impl WaitingMoments {
    /// Share of the scrapes at which somebody waited.
    pub fn share(&self) -> Measurement<Ratio> {
        self.ratio(self.moments.len() as f64 / self.scrapes as f64, self.scrapes)
    }

    /// Share of the moments of waiting at which `holds`; missing where it cannot be told of any (`None`).
    ///
    /// # Errors
    /// The page does not say what it takes.
    pub fn at_which(
        &self,
        what: &str,
        holds: impl Fn(&Waiting) -> Option<bool>,
    ) -> Result<Measurement<Ratio>, Missing> {
        let told: Vec<bool> = self.moments.iter().filter_map(holds).collect();
        if told.is_empty() && !self.moments.is_empty() {
            return Err(Missing::not_exposed(what, "firstcheck run --url URL --scrape-interval 1s"));
        }
        let share = told.iter().filter(|holds| **holds).count() as f64 / told.len().max(1) as f64;
        Ok(self.ratio(share, told.len() as u64))
    }

    fn ratio(&self, value: f64, n: u64) -> Measurement<Ratio> {
        Measurement { value: Ratio(value), interval: None, n, source: self.source.clone() }
    }
}
