//! Whether events come on a regular period: Rayleigh's test of their phases, corrected for the periods tried.

use crate::error::Error;
use std::f64::consts::TAU;

/// A period that the phases of events speak for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Period {
    /// The period, in the unit of the events' places.
    pub period: f64,
    /// Length of the mean phase vector: 1 where every event has the same phase, about 1/√n where they have none.
    pub resultant: f64,
    /// Chance that events without a period show one as clear at any of the periods tried.
    pub p: f64,
    /// Periods tried.
    pub tried: usize,
}

impl Period {
    /// Standard deviation of an event from its place on the period, as a share of the period: √(−2 ln R) / 2π.
    pub fn jitter(&self) -> f64 {
        (-2.0 * self.resultant.min(1.0).ln()).max(0.0).sqrt() / TAU
    }
}

/// Fewest events of which a period can be told, and fewest periods that they must span.
pub const FEWEST: usize = 6;

/// Frequencies tried between two that are independent of each other.
const OVERSAMPLED: f64 = 5.0;

/// Of the mean phase vectors that are nearly as long as the longest, that of the longest period counts: a train of events
/// has the same phase on every whole fraction of its period.
const AS_LONG: f64 = 0.95;

/// Mean phase vector of events on a period: its length from 0 to 1, and the phase that it points to, 0 to 1.
pub fn phases(places: &[f64], period: f64) -> (f64, f64) {
    let (mut cosines, mut sines) = (0.0, 0.0);
    for place in places {
        let (sine, cosine) = (TAU * (place / period).rem_euclid(1.0)).sin_cos();
        cosines += cosine;
        sines += sine;
    }
    let length = cosines.hypot(sines) / places.len().max(1) as f64;
    (length.min(1.0), (sines.atan2(cosines) / TAU).rem_euclid(1.0))
}

/// Rayleigh's test: the chance that `n` events without a common phase have a mean phase vector as long as `resultant`.
///
/// exp(√(1 + 4n + 4(n² − R²)) − (1 + 2n)) with R = n · resultant (Zar, "Biostatistical analysis", equation 27.4).
pub fn rayleigh(n: usize, resultant: f64) -> f64 {
    let n = n as f64;
    let sum = n * resultant.clamp(0.0, 1.0);
    ((1.0 + 4.0 * n + 4.0 * (n * n - sum * sum)).sqrt() - (1.0 + 2.0 * n)).exp().min(1.0)
}

/// The period on which events at `places` come most regularly, of all from half their mean interval (every second may be
/// missing) to a fifth of what they span, and of none below `shortest`: places that are whole numbers have the period 1 by
/// themselves. The work grows with the square of their number: give some hundreds.
///
/// # Errors
/// [`Error::TooFewValues`] below [`FEWEST`] events, [`Error::NotFinite`] for a place that is none, [`Error::NotPositive`]
/// where all stand at one place.
///
/// # Example: every second and a half, a little late
/// ```
/// use firstcheck_stats::period::regular;
/// let places: Vec<f64> = (0..20).map(|k| 1.5 * f64::from(k) + 0.01 * f64::from(k % 3)).collect();
/// let found = regular(&places, 0.0).unwrap();
/// assert!((found.period - 1.5).abs() < 0.01 && found.p < 1e-4 && found.jitter() < 0.01);
/// ```
pub fn regular(places: &[f64], shortest: f64) -> Result<Period, Error> {
    crate::error::finite("the places of events", places)?;
    let n = places.len();
    if n < FEWEST {
        return Err(Error::TooFewValues { what: "events", found: n, needed: FEWEST });
    }
    let (first, last) = places.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), p| (a.min(*p), b.max(*p)));
    let span = last - first;
    if span <= 0.0 {
        return Err(Error::NotPositive { what: "the span of events", value: span });
    }
    // Phases from the first event on: large places would lose their digits.
    let places: Vec<f64> = places.iter().map(|place| place - first).collect();
    let length = |frequency: f64| phases(&places, 1.0 / frequency).0;
    let step = 1.0 / (OVERSAMPLED * span);
    let (lowest, highest) = ((FEWEST - 1) as f64 / span, 2.0 * (n - 1) as f64 / span);
    let highest = if shortest > 0.0 { highest.min(1.0 / shortest).max(lowest) } else { highest };
    let tried = ((highest - lowest) / step).floor() as usize + 1;
    let grid: Vec<(f64, f64)> = (0..tried).map(|at| lowest + at as f64 * step).map(|f| (f, length(f))).collect();
    let longest = grid.iter().map(|(_, length)| *length).fold(0.0, f64::max);
    // The peak around the first frequency that is as good: that of the longest period.
    let start = grid.iter().position(|(_, length)| *length >= AS_LONG * longest).unwrap_or(0);
    let peak = grid[start..].iter().take(OVERSAMPLED as usize).max_by(|a, b| a.1.total_cmp(&b.1));
    let centre = peak.map_or(lowest, |(frequency, _)| *frequency);
    let (frequency, resultant) = refined(centre, step, length);
    let single = rayleigh(n, resultant);
    let p = -((tried as f64) * (-single).ln_1p()).exp_m1();
    Ok(Period { period: 1.0 / frequency, resultant, p: p.clamp(0.0, 1.0), tried })
}

/// The peak within a step of `centre`, by golden-section search.
fn refined(centre: f64, step: f64, length: impl Fn(f64) -> f64) -> (f64, f64) {
    const RATIO: f64 = 0.618_033_988_749_894_9;
    let (mut low, mut high) = (centre - step, centre + step);
    for _ in 0..30 {
        let (left, right) = (high - RATIO * (high - low), low + RATIO * (high - low));
        if length(left) >= length(right) {
            high = right;
        } else {
            low = left;
        }
    }
    let middle = f64::midpoint(low, high);
    (middle, length(middle))
}
