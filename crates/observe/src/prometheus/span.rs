//! A span of time on the server's clock.

use jiff::Timestamp;

/// From one moment to another, milliseconds of Unix time: that is what Prometheus keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its start.
    pub from_ms: i64,
    /// Its end.
    pub to_ms: i64,
}

impl Span {
    /// Its length, milliseconds; none where it ends before it begins.
    pub fn length_ms(self) -> Option<i64> {
        self.to_ms.checked_sub(self.from_ms).filter(|length| *length > 0)
    }

    /// The first `length_ms` of it.
    pub(super) fn first(self, length_ms: i64) -> Self {
        Self { to_ms: self.to_ms.min(self.from_ms.saturating_add(length_ms)), ..self }
    }

    /// As parameters of a request.
    pub(super) fn parameters(self) -> [(&'static str, String); 2] {
        [("start", seconds(self.from_ms)), ("end", seconds(self.to_ms))]
    }
}

/// Milliseconds as the seconds of a request.
pub(super) fn seconds(ms: i64) -> String {
    format!("{}.{:03}", ms.div_euclid(1000), ms.rem_euclid(1000))
}

/// Milliseconds in words.
pub(super) fn time(ms: i64) -> String {
    // Whole seconds read better, and nobody looks a series up by less.
    Timestamp::from_second(ms.div_euclid(1000)).map_or_else(|_| seconds(ms), |time| time.to_string())
}
