//! The bench of a comparison: both sides as arms, and what their pairs say so far.

use crate::{
    drive::{Bench, Deployments, Runs},
    error::Error,
    event::RatioSoFar,
    plan::Cell,
    rig::Rig,
};
use firstcheck_analyze::compare::{Comparison, Policy, SoFar};
use firstcheck_model::{evidence::RunEvidence, report::Verdict};

/// Base and candidate.
pub(crate) struct AbBench {
    pub rig: Rig,
    pub policy: Policy,
    pub runs: Runs,
}

impl AbBench {
    /// What the pairs so far say.
    pub fn pairs(&self) -> Comparison {
        let mut comparison = Comparison::new(self.policy.clone());
        let pair = |run: &RunEvidence| run.info.place.as_ref().map(|place| place.pair);
        for base in self.runs.of(0) {
            if let Some(candidate) = self.runs.of(1).iter().find(|candidate| pair(candidate) == pair(base)) {
                comparison.add_pair(base, candidate);
            }
        }
        comparison
    }
}

impl Bench for AbBench {
    fn deployments(&mut self) -> &mut dyn Deployments {
        &mut self.rig
    }

    fn keep(&mut self, cell: Cell, run: RunEvidence) {
        self.runs.add(cell, run);
    }

    fn look(&mut self, _: u32) -> Result<(Verdict, bool), Error> {
        let SoFar { decided, .. } = self.pairs().so_far();
        Ok((decided.unwrap_or(Verdict::Inconclusive), decided.is_some()))
    }

    fn so_far(&mut self) -> Option<RatioSoFar> {
        RatioSoFar::of(&self.pairs().finish())
    }
}
