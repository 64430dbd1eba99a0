//! Virtual time: a queue of what is to happen.

use std::{cmp::Reverse, collections::BinaryHeap};

/// Events in order of their time; those of the same time in the order in which they were set.
#[derive(Debug, Clone)]
pub struct EventQueue<T> {
    heap: BinaryHeap<Reverse<(i64, u64, T)>>,
    set: u64,
}

impl<T: Ord> Default for EventQueue<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), set: 0 }
    }
}

impl<T: Ord + Copy> EventQueue<T> {
    /// Sets an event for `at_ns`.
    pub fn set(&mut self, at_ns: i64, event: T) {
        self.heap.push(Reverse((at_ns, self.set, event)));
        self.set += 1;
    }

    /// Time of the next event.
    pub fn next_ns(&self) -> Option<i64> {
        self.heap.peek().map(|Reverse((at_ns, ..))| *at_ns)
    }

    /// The next event, if it is due at `until_ns` or earlier.
    pub fn take(&mut self, until_ns: i64) -> Option<(i64, T)> {
        if self.next_ns()? > until_ns {
            return None;
        }
        self.heap.pop().map(|Reverse((at_ns, _, event))| (at_ns, event))
    }
}
