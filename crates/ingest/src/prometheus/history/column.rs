//! The samples of one series, at full resolution or thinned.

use firstcheck_model::signal::SeriesKind;

/// Why a counter cannot have a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::prometheus) enum Fault {
    /// It is below zero.
    Negative,
    /// It is not finite.
    NoNumber,
}

/// Why a series of that kind cannot have that value, if it cannot.
pub(in crate::prometheus) fn fault(kind: SeriesKind, value: f64) -> Option<Fault> {
    match kind {
        SeriesKind::Counter if value < 0.0 => Some(Fault::Negative),
        SeriesKind::Counter if !value.is_finite() => Some(Fault::NoNumber),
        _ => None,
    }
}

/// Samples in the order in which they came.
#[derive(Debug, Default)]
pub(in crate::prometheus) struct Column {
    /// Nanoseconds of Unix time, or the number of the page where no time is known.
    pub(in crate::prometheus) at: Vec<i64>,
    pub(in crate::prometheus) value: Vec<f64>,
    /// The newest sample, if it was not kept.
    pending: Option<(i64, f64)>,
    /// Whether the samples around a restart are kept: those of a counter, of which only growth counts.
    restarts: bool,
}

impl Column {
    pub(in crate::prometheus) fn new(restarts: bool) -> Self {
        Self { restarts, ..Self::default() }
    }

    /// From now on a restart is a sample like any other.
    pub(in crate::prometheus) fn drop_restarts(&mut self) {
        self.restarts = false;
    }

    /// Adds a sample; with `keep` false it is held until it is known whether the next one is a restart. Returns how many
    /// samples more are kept.
    pub(in crate::prometheus) fn push(&mut self, at: i64, value: f64, keep: bool) -> usize {
        let before = self.at.len();
        let last = self.pending.map(|(_, value)| value).or_else(|| self.value.last().copied());
        let restart = self.restarts && last.is_some_and(|last| value < last);
        if restart && let Some((at, value)) = self.pending.take() {
            self.keep(at, value);
        }
        if keep || restart || self.at.is_empty() {
            self.pending = None;
            self.keep(at, value);
        } else {
            self.pending = Some((at, value));
        }
        self.at.len() - before
    }

    fn keep(&mut self, at: i64, value: f64) {
        self.at.push(at);
        self.value.push(value);
    }

    /// Drops every second sample but the first, the last, and those around a restart. Returns how many are left.
    pub(in crate::prometheus) fn thin(&mut self) -> usize {
        let n = self.value.len();
        let restarts = |at: usize| self.restarts && at > 0 && at < n && self.value[at] < self.value[at - 1];
        let kept: Vec<usize> =
            (0..n).filter(|at| at % 2 == 0 || at + 1 == n || restarts(*at) || restarts(at + 1)).collect();
        self.at = kept.iter().map(|at| self.at[*at]).collect();
        self.value = kept.iter().map(|at| self.value[*at]).collect();
        kept.len()
    }

    /// Puts the newest sample in its place.
    pub(in crate::prometheus) fn finish(&mut self) {
        if let Some((at, value)) = self.pending.take() {
            self.keep(at, value);
        }
    }

    /// The newest sample's value.
    pub(in crate::prometheus) fn last(&self) -> Option<f64> {
        self.pending.map(|(_, value)| value).or_else(|| self.value.last().copied())
    }
}
