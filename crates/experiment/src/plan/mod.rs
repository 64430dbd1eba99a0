//! What to do next: a pure state machine over the ledger.
//!
//! A plan holds no state and does nothing. [`Plan::next`] looks at what has happened and names one step; whoever drives
//! it takes the step, writes down that it was taken, and asks again. Resuming an experiment is therefore reading its
//! ledger and asking.

mod order;
mod step;
pub mod warm_up;

pub use order::Cell;
pub(crate) use order::file_name;
pub use step::{Errand, Step, Why};

use crate::ledger::Ledger;
use firstcheck_model::unit::Seconds;
use serde::{Deserialize, Serialize};

/// Pairs, or larger blocks, of runs on one trace, in an order that is random and balanced.
///
/// # Example: what is in the ledger is not done again
/// ```
/// use firstcheck_experiment::{ledger::{Entry, Ledger}, plan::{Plan, Step, Why}};
/// let plan = Plan::of_pairs(2, 7);
/// let mut ledger = Ledger::default();
/// let mut runs = 0;
/// let why = loop {
///     ledger.push(match plan.next(&ledger) {
///         Step::Start(errand) => Entry::Started { errand, process: None },
///         Step::Run(cell) => {
///             runs += 1;
///             Entry::RunDone { cell, bundle: format!("run-{runs}") }
///         }
///         Step::Stop(errand) => Entry::Stopped { errand },
///         Step::Decided(why) => break why,
///         other => unreachable!("no look and no warm-up was asked for: {other:?}"),
///     });
/// };
/// assert_eq!((runs, why), (4, Why::AllPairs));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The most pairs, or blocks.
    pub pairs: u32,
    /// Seed of the order and of the runs' own seeds.
    pub seed: u64,
    /// Pairs after which one may look whether the experiment is decided, ascending, the last equal to `pairs`. Empty: all
    /// pairs are run, and one looks once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
    /// What runs once in each block, by name; empty: base and candidate, whose blocks are pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<String>,
    /// Two devices that base and candidate swap between pairs; empty: there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// How long each run warms up before its window.
    pub warm_up: WarmUp,
    /// Whether both sides are one deployment, to see how much it differs from itself.
    #[serde(default)]
    pub same_sides: bool,
}

/// How long a run warms up. It is fixed before the first pair and equal on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmUp {
    /// So long.
    Fixed(Seconds),
    /// As long as a first run of base shows that it takes.
    Learnt,
}

/// A plan that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Not a number of pairs that balances.
    #[error("{pairs} pairs: it must be a multiple of {multiple}, so that {what} balance")]
    Pairs {
        /// As asked.
        pairs: u32,
        /// What it must be a multiple of.
        multiple: u32,
        /// What would not balance.
        what: &'static str,
    },
    /// Not a list of looks.
    #[error("looks after {looks:?} pairs: they must ascend, be multiples of {multiple} and end with {pairs}")]
    Looks {
        /// As asked.
        looks: Vec<u32>,
        /// What each must be a multiple of.
        multiple: u32,
        /// The most pairs.
        pairs: u32,
    },
    /// Devices in an experiment that has no pairs.
    #[error("devices are swapped between base and candidate, and this experiment has {0} arms: leave the devices out")]
    DevicesOfArms(usize),
    /// Not two different devices.
    #[error("devices {0:?}: name none, or two that differ")]
    Devices(Vec<String>),
}

impl Plan {
    /// `pairs` pairs on one device without looks and without warm-up.
    pub fn of_pairs(pairs: u32, seed: u64) -> Self {
        Self {
            pairs,
            seed,
            looks: Vec::new(),
            arms: Vec::new(),
            devices: Vec::new(),
            warm_up: WarmUp::Fixed(Seconds(0.0)),
            same_sides: false,
        }
    }

    /// Whether it balances.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check(&self) -> Result<(), PlanError> {
        match &self.devices[..] {
            [] => {}
            [_, ..] if !self.arms.is_empty() => return Err(PlanError::DevicesOfArms(self.arms.len())),
            [one, other] if one != other => {}
            _ => return Err(PlanError::Devices(self.devices.clone())),
        }
        let multiple = self.multiple();
        if self.pairs == 0 || !self.pairs.is_multiple_of(multiple) {
            let what = if self.devices.is_empty() { "the order" } else { "order and devices" };
            return Err(PlanError::Pairs { pairs: self.pairs, multiple, what });
        }
        let ascend = self.looks.windows(2).all(|two| two[0] < two[1]);
        let balance = self.looks.iter().all(|look| *look > 0 && look.is_multiple_of(multiple));
        if !ascend || !balance || self.looks.last().is_some_and(|last| *last != self.pairs) {
            return Err(PlanError::Looks { looks: self.looks.clone(), multiple, pairs: self.pairs });
        }
        Ok(())
    }

    /// What numbers of pairs must be a multiple of, so that all orders occur equally often: 2, with two devices 4. In larger
    /// blocks as many as there are arms, so that each arm is at each place equally often.
    pub fn multiple(&self) -> u32 {
        if self.devices.is_empty() { self.runs_a_block() } else { 4 }
    }

    /// Runs of a block: 2 of a pair.
    pub fn runs_a_block(&self) -> u32 {
        if self.arms.is_empty() { 2 } else { self.arms.len() as u32 }
    }

    /// The next step, given what has happened.
    pub fn next(&self, ledger: &Ledger) -> Step {
        if let Some(standing) = ledger.standing() {
            return match standing.errand {
                errand if standing.abandoned || ledger.is_done(errand) => Step::Stop(errand),
                Errand::WarmUp => Step::WarmUp,
                Errand::Run(cell) => Step::Run(cell),
            };
        }
        if self.warm_up == WarmUp::Learnt && ledger.warm_up().is_none() {
            return Step::Start(Errand::WarmUp);
        }
        let cells = self.cells();
        let open = cells.iter().position(|cell| !ledger.is_done(Errand::Run(*cell)));
        let complete = open.unwrap_or(cells.len()) as u32 / self.runs_a_block();
        // A pair of a decided experiment that was lost since is run again, and no other.
        if let Some(pairs) = ledger.decided().filter(|pairs| *pairs <= complete) {
            return Step::Decided(Why::Look { pairs });
        }
        let due = |look: &&u32| **look < self.pairs && **look == complete && !ledger.has_looked(**look);
        if let Some(pairs) = self.looks.iter().find(due) {
            return Step::Look { pairs: *pairs };
        }
        match open.and_then(|at| cells.get(at)) {
            Some(cell) => Step::Start(Errand::Run(*cell)),
            None => Step::Decided(Why::AllPairs),
        }
    }
}
