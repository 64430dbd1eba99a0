//! A trace, seen by what starts each of its requests.

use firstcheck_model::{moment::Moment, run::Arrivals};
use firstcheck_workload::trace::{Due, Trace};

/// A trace that cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Nothing to offer.
    #[error("the workload holds no request")]
    Empty,
    /// A row that is due at a time that is not said.
    #[error("row {row} of the workload is due at a time but says none")]
    NoTime {
        /// The row.
        row: u32,
    },
    /// A row waits for one that does not come before it.
    #[error("row {row} of the workload waits for row {after}, which does not come before it")]
    Order {
        /// The row.
        row: u32,
        /// The row that it waits for.
        after: u32,
    },
    /// Rows that wait for a free stream, and no number of streams.
    #[error("the workload has requests for a closed loop but names no number of streams")]
    NoStreams,
    /// More rows than a row number can tell apart.
    #[error("the workload holds more than {} requests", u32::MAX)]
    TooLong,
}

/// What starts each request: its time, a free stream, or the end of another request.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Rows that are due at a time, ascending by it, with that time in nanoseconds.
    pub timed: Vec<(i64, u32)>,
    /// Rows of the closed loop, in order.
    pub when_free: Vec<u32>,
    /// (row, follower, think time in nanoseconds), ascending by row.
    followers: Vec<(u32, u32, i64)>,
    /// Streams of the closed loop; 0 without one.
    pub streams: usize,
}

impl Plan {
    pub fn new(trace: &Trace) -> Result<Self, PlanError> {
        if trace.is_empty() {
            return Err(PlanError::Empty);
        }
        u32::try_from(trace.len()).map_err(|_| PlanError::TooLong)?;
        let (mut timed, mut when_free, mut followers) = (Vec::new(), Vec::new(), Vec::new());
        for (row, offered) in (0_u32..).zip(&trace.items) {
            match offered.due {
                Due::At(moment) => timed.push((moment.get().ok_or(PlanError::NoTime { row })?, row)),
                Due::WhenFree => when_free.push(row),
                Due::After { row: after, .. } if after >= row => return Err(PlanError::Order { row, after }),
                Due::After { row: after, think_ns } => followers.push((after, row, think_ns)),
            }
        }
        timed.sort_unstable();
        followers.sort_unstable();
        let streams = match trace.arrivals {
            Arrivals::Closed { concurrency } => concurrency as usize,
            Arrivals::Open { .. } | Arrivals::Unknown => 0,
        };
        if streams == 0 && !when_free.is_empty() {
            return Err(PlanError::NoStreams);
        }
        Ok(Self { timed, when_free, followers, streams })
    }

    /// The rows that wait for the end of `row`, with their think times.
    pub fn followers(&self, row: u32) -> impl Iterator<Item = (u32, i64)> + '_ {
        let from = self.followers.partition_point(|(after, ..)| *after < row);
        self.followers[from..].iter().take_while(move |(after, ..)| *after == row).map(|(_, row, think)| (*row, *think))
    }

    /// The last time at which a request is due, in a plan that consists of times alone.
    pub fn last_due(&self) -> Option<Moment> {
        let only_times = self.when_free.is_empty() && self.followers.is_empty();
        self.timed.last().filter(|_| only_times).map(|(due, _)| Moment::at(*due))
    }
}
