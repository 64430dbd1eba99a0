//! A pair as a judgement looks at it: all its requests, or one slice of them.

use super::{
    pair::Pair,
    reading::{Basis, Cell, Reading},
};
use firstcheck_stats::goodput::Counts;

/// What one run of a pair is held to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values<'p> {
    pub offered: u64,
    /// Offered requests that were not answered in full.
    pub unanswered: u64,
    pub good: Option<Counts>,
    pub cells: &'p [Cell],
}

impl<'p> Values<'p> {
    fn of(reading: &'p Reading) -> Self {
        Self { offered: reading.offered, unanswered: reading.unanswered, good: reading.good, cells: &reading.cells }
    }
}

/// Both runs of a pair, seen through the same requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'p> {
    pub pair: &'p Pair,
    pub base: Values<'p>,
    pub candidate: Values<'p>,
}

impl<'p> View<'p> {
    /// All requests of the pair.
    pub fn whole(pair: &'p Pair) -> Self {
        Self { pair, base: Values::of(&pair.base), candidate: Values::of(&pair.candidate) }
    }

    /// Both runs, base first.
    pub fn sides(&self) -> [Values<'p>; 2] {
        [self.base, self.candidate]
    }

    /// Why the cell may not be believed on either side.
    pub fn doubt(&self, at: usize) -> Option<&'p str> {
        self.sides().into_iter().find_map(|side| side.cells[at].doubt.as_deref())
    }

    /// Why the cell is no level on either side.
    pub fn jump(&self, at: usize) -> Option<&'p str> {
        self.sides().into_iter().find_map(|side| side.cells[at].jump.as_deref())
    }

    /// Whether a side's cell was only printed by a file.
    pub fn only_reported(&self, at: usize) -> bool {
        self.sides().into_iter().any(|side| side.cells[at].basis == Basis::Reported)
    }

    /// Offered requests of the side with fewer.
    pub fn requests(&self) -> u64 {
        self.base.offered.min(self.candidate.offered)
    }
}
