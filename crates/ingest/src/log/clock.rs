//! Times of lines on one clock, that of the log: nanoseconds since its first dated line.
//!
//! A line may be dated twice, by its collector with a date and a zone, and by the engine in local time, mostly without a
//! year; some lines have one, some the other, some none. The two clocks are tied together where both are seen at once, or
//! at the moment where one takes over from the other, so that a log which is dated by its collector only from a later line,
//! or only up to one, keeps one order.

use super::prefix::Stated;
use firstcheck_model::moment::Moment;

/// Seconds of a year without a leap day.
const YEAR: f64 = 365.0 * 86_400.0;

/// A step back in time by more is a new year, not disorder.
const HALF_YEAR: f64 = YEAR / 2.0;

/// The clock of a log.
#[derive(Debug, Default)]
pub(super) struct LogClock {
    /// Unix time of moment 0, once a collector dated a line.
    started_unix_ns: Option<i64>,
    /// The engine's seconds at moment 0, once the engine dated a line.
    zero: Option<f64>,
    engine: EngineClock,
    latest: Option<Moment>,
}

impl LogClock {
    /// The moment of a line by what dates it; of one that nothing dates, that of the line before it.
    pub(super) fn moment(&mut self, collected_unix_ns: Option<i64>, stated: Option<Stated>) -> Option<Moment> {
        let stated = stated.and_then(|stated| self.engine.seconds(stated));
        let before = self.latest.and_then(Moment::get).unwrap_or(0);
        let on_engines = |zero: f64| stated.and_then(|seconds| Moment::from_seconds(seconds - zero).get());
        let moment = match (collected_unix_ns, stated) {
            (Some(unix), _) => {
                let known = self.zero.and_then(on_engines).unwrap_or(before);
                let start = *self.started_unix_ns.get_or_insert_with(|| unix.saturating_sub(known));
                let moment = unix.saturating_sub(start);
                if let (None, Some(seconds)) = (self.zero, stated) {
                    self.zero = Some(seconds - moment as f64 * 1e-9);
                }
                Some(Moment::at(moment))
            }
            (None, Some(seconds)) => {
                let zero = *self.zero.get_or_insert(seconds - before as f64 * 1e-9);
                Some(Moment::from_seconds(seconds - zero))
            }
            (None, None) => None,
        };
        self.latest = self.latest.max(moment);
        moment.or(self.latest)
    }

    /// Unix time of moment 0, nanoseconds, where a collector dated the log.
    pub(super) fn started_unix_ns(&self) -> Option<i64> {
        self.started_unix_ns
    }

    /// The last moment.
    pub(super) fn latest(&self) -> Option<Moment> {
        self.latest
    }
}

/// The engine's times as seconds that go on over the end of a year.
#[derive(Debug, Default)]
struct EngineClock {
    began: Option<Began>,
    last: f64,
    /// Seconds added since years ended, where lines have no year.
    years: f64,
}

/// How the first dated line was dated: lines that are dated the other way follow it.
#[derive(Debug, Clone, Copy)]
enum Began {
    /// Without a year.
    Yearless,
    /// With one: the last that was stated.
    In(i16),
}

impl EngineClock {
    /// Seconds since some fixed moment; `None` for a date that does not exist.
    fn seconds(&mut self, stated: Stated) -> Option<f64> {
        let began = *self.began.get_or_insert(stated.year.map_or(Began::Yearless, Began::In));
        let seconds = match (began, stated.year) {
            (Began::Yearless, _) => {
                let seconds = stated.of_year()?;
                if seconds + self.years < self.last - HALF_YEAR {
                    self.years += YEAR;
                } else if self.years > 0.0 && seconds + self.years > self.last + HALF_YEAR {
                    // A line of another process that was written before midnight.
                    self.years -= YEAR;
                }
                seconds + self.years
            }
            (Began::In(_), Some(year)) => {
                self.began = Some(Began::In(year));
                stated.in_year(year)?
            }
            (Began::In(year), None) => {
                let near = |seconds: &f64| (seconds - self.last).abs() < HALF_YEAR;
                let years = [year, year.saturating_add(1), year.saturating_sub(1)];
                years.into_iter().filter_map(|year| stated.in_year(year)).find(near)?
            }
        };
        self.last = seconds;
        Some(seconds)
    }
}
