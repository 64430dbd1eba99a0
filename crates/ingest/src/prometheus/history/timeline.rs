//! Columns of samples put on one clock.

use super::column::Column;
use firstcheck_model::{
    moment::{Moment, Window},
    run::{Clock, ClockKind},
    signal::Series,
};

/// Series with their clock.
pub(in crate::prometheus) struct Timeline {
    pub(in crate::prometheus) series: Vec<Series>,
    pub(in crate::prometheus) clock: Clock,
    /// From the first sample to the last, where they have times.
    pub(in crate::prometheus) window: Option<Window>,
}

impl Timeline {
    /// Series with their samples in the order of their times; `timed`: those are Unix times, in nanoseconds.
    pub(in crate::prometheus) fn of(columns: Vec<(Series, Column)>, timed: bool) -> Self {
        let columns: Vec<(Series, Column)> = columns
            .into_iter()
            .map(|(series, mut column)| {
                column.finish();
                (series, column)
            })
            .collect();
        let times = columns.iter().flat_map(|(_, column)| column.at.iter().copied());
        let (start, end) = times.fold((i64::MAX, i64::MIN), |(low, high), at| (low.min(at), high.max(at)));
        let clock = clock((timed && start <= end).then_some(start));
        let start = if start <= end { start } else { 0 };
        let series = columns.into_iter().map(|(mut series, column)| {
            let mut samples: Vec<(i64, f64)> = column.at.into_iter().zip(column.value).collect();
            if !samples.is_sorted_by_key(|(at, _)| *at) {
                samples.sort_by_key(|(at, _)| *at);
            }
            series.signal = None;
            series.at = samples.iter().map(|(at, _)| moment(*at, start)).collect();
            series.value = samples.into_iter().map(|(_, value)| value).collect();
            series
        });
        let window = timed.then(|| Window { start: moment(start, start), end: moment(end, start) });
        Self { series: series.collect(), clock, window }
    }
}

/// The clock of pages whose first stands at `start`, nanoseconds of Unix time.
fn clock(start: Option<i64>) -> Clock {
    match start {
        Some(start) => Clock { started_unix_ns: Some(start), kind: ClockKind::Real },
        None => Clock { started_unix_ns: None, kind: ClockKind::Order },
    }
}

/// A moment on a clock that begins at `start`.
fn moment(at: i64, start: i64) -> Moment {
    Moment::at(at.saturating_sub(start))
}
