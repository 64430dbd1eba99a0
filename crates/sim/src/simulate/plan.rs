//! When each row of a trace is sent.

use super::SimError;
use crate::clock::EventQueue;
use firstcheck_model::run::Arrivals;
use firstcheck_workload::trace::{Due, Offered, Trace};

/// What the client is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    /// Take up the request of that row: the plan says that it is due.
    Send(u32),
    /// Send the request of that row: the gate has let it through, or it is tried again.
    Dispatch(u32),
    /// Give that attempt at a row up, if it is still the current one.
    GiveUp {
        row: u32,
        attempt: u8,
        /// Only if it has no token yet.
        unless_begun: bool,
    },
    /// The user of that row goes away, if the answer is still on its way.
    Leave(u32),
}

/// When each row of a trace is sent, given when others end.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) queue: EventQueue<Action>,
    /// Rows that wait for a free stream, the next one last.
    waiting: Vec<u32>,
    /// For each row, the turns that follow it with their think times.
    turns: Vec<Vec<(u32, i64)>>,
    /// Whether a row occupies a stream of the closed loop.
    in_loop: Vec<bool>,
}

impl Plan {
    /// The rows of `trace`, and behind them those of `others`, who send when they want to.
    pub(super) fn new(trace: &Trace, others: &[Offered]) -> Result<Self, SimError> {
        let all = trace.items.len() + others.len();
        let rows = u32::try_from(all).map_err(|_| SimError::TooMany(all))?;
        let mut plan = Self {
            queue: EventQueue::default(),
            waiting: Vec::new(),
            turns: vec![Vec::new(); rows as usize],
            in_loop: vec![false; rows as usize],
        };
        for (row, item) in trace.items.iter().enumerate() {
            match item.due {
                Due::At(at) => plan.queue.set(at.get().unwrap_or(0), Action::Send(row as u32)),
                Due::WhenFree => plan.waiting.push(row as u32),
                Due::After { row: after, think_ns } => match plan.turns.get_mut(after as usize) {
                    Some(turns) if (after as usize) < row => turns.push((row as u32, think_ns.max(0))),
                    _ => return Err(SimError::TurnOrder { row, after }),
                },
            }
        }
        for (place, other) in others.iter().enumerate() {
            if let Due::At(at) = other.due {
                plan.queue.set(at.get().unwrap_or(0), Action::Send((trace.items.len() + place) as u32));
            }
        }
        plan.waiting.reverse();
        if let Some(first) = plan.waiting.last() {
            let streams = match trace.arrivals {
                Arrivals::Closed { concurrency } if concurrency > 0 => concurrency,
                _ => return Err(SimError::NoStreams { row: *first as usize }),
            };
            for _ in 0..streams {
                plan.stream_free(0);
            }
        }
        Ok(plan)
    }

    /// Row `row` ended at `now_ns`, however it ended: its next turn follows, or its stream takes the next row. Users
    /// think `think_factor` times as long as the trace says.
    pub(super) fn ended(&mut self, row: u32, now_ns: i64, think_factor: f64) {
        let mut holds_stream = std::mem::take(&mut self.in_loop[row as usize]);
        for (turn, think_ns) in std::mem::take(&mut self.turns[row as usize]) {
            self.in_loop[turn as usize] = std::mem::take(&mut holds_stream);
            let think_ns = if think_factor == 1.0 { think_ns } else { (think_ns as f64 * think_factor) as i64 };
            self.queue.set(now_ns.saturating_add(think_ns), Action::Send(turn));
        }
        if holds_stream {
            self.stream_free(now_ns);
        }
    }

    fn stream_free(&mut self, now_ns: i64) {
        if let Some(row) = self.waiting.pop() {
            self.in_loop[row as usize] = true;
            self.queue.set(now_ns, Action::Send(row));
        }
    }
}
