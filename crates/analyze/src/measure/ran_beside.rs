//! Requests that ran at the same time as another one, by their first and last tokens.

use firstcheck_model::{
    evidence::RunEvidence,
    moment::{Moment, Window},
    request::Request,
};

/// When requests began to run and ended, each sorted.
pub(super) struct RanBeside {
    starts: Vec<Moment>,
    ends: Vec<Moment>,
}

impl RanBeside {
    /// Of the requests of a run that are `wanted`, those outside of its window too.
    pub(super) fn of(run: &RunEvidence, wanted: fn(&Request) -> bool) -> Self {
        let requests = run.requests.0.iter().filter(|request| wanted(request));
        let known = requests.filter(|request| request.first_token.reached() && request.last_token.reached());
        let (mut starts, mut ends): (Vec<_>, Vec<_>) =
            known.map(|request| (request.first_token, request.last_token)).unzip();
        starts.sort_unstable();
        ends.sort_unstable();
        Self { starts, ends }
    }

    /// Whether none of them ran.
    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Mean number that ran over a span, and the share of it in which any did.
    pub(super) fn over(&self, over: Window) -> Option<(f64, f64)> {
        let length = over.length().filter(|length| length.0 > 0.0)?.0;
        let before = |list: &[Moment], at: Moment| list.partition_point(|moment| *moment <= at);
        let mut running = before(&self.starts, over.start).saturating_sub(before(&self.ends, over.start));
        let (mut start, mut end) = (before(&self.starts, over.start), before(&self.ends, over.start));
        let (mut now, mut sum, mut any) = (over.start, 0.0, 0.0);
        loop {
            let next_start = self.starts.get(start).copied().unwrap_or(over.end).min(over.end);
            let next_end = self.ends.get(end).copied().unwrap_or(over.end).min(over.end);
            let next = next_start.min(next_end);
            let part = next.since(now)?.0;
            sum += running as f64 * part;
            any += if running > 0 { part } else { 0.0 };
            if next >= over.end {
                return Some((sum / length, any / length));
            }
            if next_end <= next_start {
                (running, end) = (running.saturating_sub(1), end + 1);
            } else {
                (running, start) = (running + 1, start + 1);
            }
            now = next;
        }
    }
}
