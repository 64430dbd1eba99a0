//! What can happen in an experiment.

use crate::plan::{Cell, Errand, Plan};
use firstcheck_model::{report::Verdict, unit::Seconds};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Entry {
    /// The experiment began.
    Begun(Begun),
    /// It was taken up again: what was running then is not known to run now.
    Resumed,
    /// A deployment was started, or was found to be there.
    Started {
        /// What for.
        errand: Errand,
        /// Its process, where it is ours.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<Process>,
    },
    /// Base has shown how long a run warms up.
    WarmedUp {
        /// So long.
        warm_up: Seconds,
        /// The bundle of the run that showed it, relative to the ledger's folder.
        bundle: String,
    },
    /// A run ended and its bundle is complete.
    RunDone {
        /// Which.
        cell: Cell,
        /// The bundle's folder, relative to the ledger's.
        bundle: String,
    },
    /// The bundle of a run is not there whole any more: the run will be made again.
    Lost {
        /// Which.
        cell: Cell,
        /// What is wrong with it.
        why: String,
    },
    /// What was started is no more.
    Stopped {
        /// What it was for.
        errand: Errand,
    },
    /// A planned look was taken.
    Looked {
        /// After so many pairs.
        pairs: u32,
        /// What they said.
        verdict: Verdict,
        /// Whether that ends the experiment.
        decides: bool,
    },
}

/// How an experiment began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    /// By this plan.
    pub plan: Plan,
    /// What is compared under what, by name: two experiments are one only where all of it is equal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub subject: BTreeMap<String, String>,
    /// Makes the prompts of this experiment unlike those of any other, where its servers outlive a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
}

impl Begun {
    /// An experiment that nothing but its plan tells from another.
    pub fn by(plan: Plan) -> Self {
        Self { plan, subject: BTreeMap::new(), nonce: None }
    }

    /// What differs between two experiments: `pairs: 8 there, 12 asked`; empty: they are one.
    pub fn differences(&self, asked: &Self) -> Vec<String> {
        let mut differences: Vec<String> = Vec::new();
        let mut compare = |name: &str, there: String, asked: String| {
            if there != asked {
                differences.push(format!("{name}: {there} there, {asked} asked"));
            }
        };
        let (ours, theirs) = (&self.plan, &asked.plan);
        compare("pairs", ours.pairs.to_string(), theirs.pairs.to_string());
        compare("seed", ours.seed.to_string(), theirs.seed.to_string());
        compare("looks", format!("{:?}", ours.looks), format!("{:?}", theirs.looks));
        compare("arms", ours.arms.join(", "), theirs.arms.join(", "));
        compare("devices", format!("{:?}", ours.devices), format!("{:?}", theirs.devices));
        compare("both sides one", ours.same_sides.to_string(), theirs.same_sides.to_string());
        compare("warm-up", format!("{:?}", ours.warm_up), format!("{:?}", theirs.warm_up));
        let names: BTreeSet<&String> = self.subject.keys().chain(asked.subject.keys()).collect();
        for name in names {
            let value = |begun: &Self| begun.subject.get(name).cloned().unwrap_or_else(|| "none".into());
            compare(name, value(self), value(asked));
        }
        differences
    }
}

/// A process that was started, so that what is left of it can be told from another that has its number now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number, which is also that of its group.
    pub id: u32,
    /// When the kernel says that it began, in ticks since the machine did; none where that cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<u64>,
}
