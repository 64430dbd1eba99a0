//! The client's side: who is sent when, and what it saw.

use super::SimError;
use crate::clock::EventQueue;
use firstcheck_model::run::Arrivals;
use firstcheck_workload::trace::{Due, Trace};

/// What the client is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    /// Send the request of that row.
    Send(u32),
    /// Give the request of that row up, unless it has ended.
    GiveUp(u32),
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
    pub(super) fn new(trace: &Trace) -> Result<Self, SimError> {
        let rows = u32::try_from(trace.items.len()).map_err(|_| SimError::TooMany(trace.items.len()))?;
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

    /// Row `row` ended at `now_ns`, however it ended: its next turn follows, or its stream takes the next row.
    pub(super) fn ended(&mut self, row: u32, now_ns: i64) {
        let mut holds_stream = std::mem::take(&mut self.in_loop[row as usize]);
        for (turn, think_ns) in std::mem::take(&mut self.turns[row as usize]) {
            self.in_loop[turn as usize] = std::mem::take(&mut holds_stream);
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
