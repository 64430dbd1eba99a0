//! How often it was right.

use super::{Judged, Word};
use firstcheck_sim::fault::FaultSpec;
use std::collections::BTreeMap;

/// Runs of one fault.
#[derive(Debug, Clone)]
pub struct Row {
    /// The fault.
    pub fault: &'static FaultSpec,
    /// Runs.
    pub runs: u64,
    /// Of them above the floor.
    pub above: u64,
    /// Of those above: found by the fault's own check.
    pub found: u64,
    /// Of those found: with the fault's cause among the supported.
    pub right: u64,
    /// Of those above: undecided.
    pub undecided: u64,
    /// Of those below the floor: found all the same ([`Judged::is_found_below`]).
    pub found_below: u64,
    /// Runs in which another check found what is not there, by code.
    pub wrong: BTreeMap<String, u64>,
    /// Runs in which another check found what is there by its own floor, by code.
    pub beside: BTreeMap<String, u64>,
    /// Runs in which a finding stood as a consequence of another, by code.
    pub consequences: BTreeMap<String, u64>,
}

/// Healthy runs of one scene.
#[derive(Debug, Clone, Default)]
pub struct Calm {
    /// Runs.
    pub runs: u64,
    /// Runs in which a check found something, by code.
    pub wrong: BTreeMap<String, u64>,
}

/// Counts by fault, in the order in which faults first come, and by scene.
pub fn rows(all: &[Judged]) -> (Vec<Row>, BTreeMap<&'static str, Calm>) {
    let (mut rows, mut calm): (Vec<Row>, BTreeMap<&'static str, Calm>) = (Vec::new(), BTreeMap::new());
    for run in all {
        let Some(fault) = run.fault else {
            let scene = calm.entry(run.scene).or_default();
            scene.runs += 1;
            run.others().for_each(|(said, _)| *scene.wrong.entry(said.code.clone()).or_default() += 1);
            continue;
        };
        let known = rows.iter().position(|row| row.fault.slug == fault.slug);
        let at = known.unwrap_or(rows.len());
        if known.is_none() {
            rows.push(Row::new(fault));
        }
        if let Some(row) = rows.get_mut(at) {
            row.add(run);
        }
    }
    rows.sort_by_key(|row| row.fault.symptom);
    (rows, calm)
}

impl Row {
    fn new(fault: &'static FaultSpec) -> Self {
        Self {
            fault,
            runs: 0,
            above: 0,
            found: 0,
            right: 0,
            undecided: 0,
            found_below: 0,
            wrong: BTreeMap::new(),
            beside: BTreeMap::new(),
            consequences: BTreeMap::new(),
        }
    }

    fn add(&mut self, run: &Judged) {
        self.runs += 1;
        let own = run.own();
        let present = own.is_some_and(super::Said::is_present);
        match run.above {
            Some(true) => {
                self.above += 1;
                self.found += u64::from(present);
                self.right += u64::from(own.is_some_and(|own| own.names(self.fault.cause)));
                self.undecided += u64::from(own.is_some_and(|own| matches!(own.word, Word::Undecided(_))));
            }
            Some(false) => self.found_below += u64::from(run.is_found_below()),
            None => {}
        }
        for (said, there) in run.others() {
            let counted = if *there { &mut self.beside } else { &mut self.wrong };
            *counted.entry(said.code.clone()).or_default() += 1;
        }
        for said in run.consequences() {
            *self.consequences.entry(said.code.clone()).or_default() += 1;
        }
    }
}
