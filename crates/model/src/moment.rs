//! Time on a run's own clock.

use crate::unit::Seconds;
use serde::{Deserialize, Serialize};

/// Nanoseconds on the run's own clock; 0 is the run's start. Never wall time: [`crate::run::Clock`] converts.
///
/// `i64::MIN` is the niche for *not reached*, so that a column of moments costs 8 bytes a row.
///
/// # Example: a moment that was never reached has no distance to another
/// ```
/// use firstcheck_model::moment::Moment;
/// assert_eq!(Moment::at(2_500_000_000).since(Moment::at(500_000_000)).map(|s| s.0), Some(2.0));
/// assert_eq!(Moment::NEVER.since(Moment::at(0)), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Option<i64>", into = "Option<i64>")]
pub struct Moment(i64);

impl Moment {
    /// Not reached, or not known.
    pub const NEVER: Self = Self(i64::MIN);

    /// The moment `ns` nanoseconds after the run's start (negative: before it).
    pub const fn at(ns: i64) -> Self {
        Self(ns)
    }

    /// The moment `seconds` after the run's start, rounded to a nanosecond; [`Moment::NEVER`] if not finite.
    pub fn from_seconds(seconds: f64) -> Self {
        if seconds.is_finite() { Self((seconds * 1e9).round() as i64) } else { Self::NEVER }
    }

    /// Nanoseconds since the run's start, if reached.
    pub const fn get(self) -> Option<i64> {
        if self.0 == i64::MIN { None } else { Some(self.0) }
    }

    /// Whether it was reached.
    pub const fn reached(self) -> bool {
        self.0 != i64::MIN
    }

    /// Seconds since the run's start, if reached.
    pub fn seconds(self) -> Option<f64> {
        self.get().map(|ns| ns as f64 * 1e-9)
    }

    /// Nanoseconds since `earlier`, if both were reached (negative if `earlier` is later).
    pub fn ns_since(self, earlier: Self) -> Option<i64> {
        Some(self.get()?.saturating_sub(earlier.get()?))
    }

    /// Seconds since `earlier`, if both were reached.
    pub fn since(self, earlier: Self) -> Option<Seconds> {
        self.ns_since(earlier).map(|ns| Seconds(ns as f64 * 1e-9))
    }

    /// This moment moved by `ns` nanoseconds; a moment that was never reached stays so.
    pub fn plus_ns(self, ns: i64) -> Self {
        self.get().map_or(Self::NEVER, |at| Self(at.saturating_add(ns)))
    }
}

impl From<Option<i64>> for Moment {
    fn from(ns: Option<i64>) -> Self {
        ns.map_or(Self::NEVER, Self)
    }
}

impl From<Moment> for Option<i64> {
    fn from(moment: Moment) -> Self {
        moment.get()
    }
}

/// A half-open span of a run: `start <= t < end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// First moment inside.
    pub start: Moment,
    /// First moment after.
    pub end: Moment,
}

impl Window {
    /// Whether `moment` was reached inside the window.
    pub fn contains(&self, moment: Moment) -> bool {
        moment.reached() && self.start <= moment && moment < self.end
    }

    /// Length of the window, if both ends are known.
    pub fn length(&self) -> Option<Seconds> {
        self.end.since(self.start)
    }
}
