//! Interleaved pairs of runs on one trace.

use crate::ledger::{Entry, Ledger};
use firstcheck_model::run::Role;
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// One run of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// Its pair, from 0.
    pub pair: u32,
    /// Which side.
    pub role: Role,
    /// 0 when it runs first of its pair, 1 when second.
    pub order: u8,
    /// Seed of what is random in this run beside the trace (a simulated engine's noise).
    pub seed: u64,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Run this cell.
    Run(Cell),
    /// All pairs are there.
    Done,
}

/// K pairs, base first in half of them: the order is shuffled from the seed and balanced.
///
/// # Example: what is in the ledger is not run again
/// ```
/// use firstcheck_experiment::{ledger::{Entry, Ledger}, plan::pairs::{PairPlan, Step}};
/// let plan = PairPlan { pairs: 2, seed: 7 };
/// let mut ledger = Ledger::default();
/// let mut runs = 0;
/// while let Step::Run(cell) = plan.next(&ledger) {
///     ledger.push(Entry::RunDone { cell, bundle: format!("{runs}") });
///     runs += 1;
/// }
/// assert_eq!(runs, 4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairPlan {
    /// Number of pairs.
    pub pairs: u32,
    /// Seed of the order and of the runs' own seeds.
    pub seed: u64,
}

impl PairPlan {
    /// All cells in the order in which they run.
    pub fn cells(&self) -> Vec<Cell> {
        let mut base_first: Vec<bool> = (0..self.pairs).map(|pair| pair % 2 == 0).collect();
        base_first.shuffle(&mut ChaCha8Rng::seed_from_u64(self.seed));
        let sides = |first: bool| if first { [Role::Base, Role::Candidate] } else { [Role::Candidate, Role::Base] };
        let pairs = (0..self.pairs).zip(base_first);
        pairs
            .flat_map(|(pair, first)| {
                let sides = (0u8..).zip(sides(first));
                sides.map(move |(order, role)| Cell { pair, role, order, seed: self.run_seed(pair, role) })
            })
            .collect()
    }

    /// The next step, given what has happened.
    pub fn next(&self, ledger: &Ledger) -> Step {
        let done =
            |cell: &Cell| ledger.entries().iter().any(|e| matches!(e, Entry::RunDone { cell: c, .. } if c == cell));
        self.cells().into_iter().find(|cell| !done(cell)).map_or(Step::Done, Step::Run)
    }

    fn run_seed(&self, pair: u32, role: Role) -> u64 {
        let side = match role {
            Role::Base => 0,
            Role::Candidate => 1,
        };
        self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(pair) * 2 + side)
    }
}
