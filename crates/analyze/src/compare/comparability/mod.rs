//! Whether two runs may be compared at all: rules over what was offered, the state of caches, the deployments, and how
//! each run was measured. What is compared, the difference between the deployments, is no reason to refuse.

mod caches;
mod deployments;
mod measured;
mod offered;

use super::{
    columns::Columns,
    policy::Policy,
    reading::Reading,
    same_trace::{self, Trace},
};
pub use firstcheck_model::comparability::{Level, Reach, Ruling};
use std::collections::BTreeSet;

/// What may be compared of two runs.
#[derive(Debug, Clone)]
pub(super) struct Comparability {
    pub trace: Trace,
    /// What the rules found, the weightiest first.
    pub rulings: Vec<Ruling>,
}

impl Comparability {
    /// Why nothing may be compared, but for a client that may not be believed: its run is invalid, whatever it is
    /// compared with.
    pub fn refusals(&self) -> impl Iterator<Item = &str> {
        self.blocking(Reach::Everything)
    }

    /// Why what holds the wait in the queue may not; `None`: it may.
    pub fn queue(&self) -> Option<&str> {
        self.blocking(Reach::Queue).next()
    }

    fn blocking(&self, reach: Reach) -> impl Iterator<Item = &str> {
        let blocks = self.rulings.iter().filter(move |r| r.level == Level::Blocks && r.reach == reach);
        let blocks = blocks.filter(|ruling| ruling.rule != measured::CLIENT.name);
        blocks.map(|ruling| ruling.reason.as_str())
    }
}

/// A run with its columns.
type Run<'a> = (&'a Reading, &'a Columns);

/// Two runs under question.
struct Two<'a> {
    base: Run<'a>,
    candidate: Run<'a>,
    trace: &'a Trace,
    policy: &'a Policy,
}

/// What a rule found.
struct Found {
    level: Level,
    reach: Reach,
    reason: String,
}

impl Found {
    fn blocks(reason: String) -> Self {
        Self { level: Level::Blocks, reach: Reach::Everything, reason }
    }

    fn blocks_queue(reason: String) -> Self {
        Self { level: Level::Blocks, reach: Reach::Queue, reason }
    }

    fn warns(reason: String) -> Self {
        Self { level: Level::Warns, reach: Reach::Everything, reason }
    }

    fn notes(reason: String) -> Self {
        Self { level: Level::Notes, reach: Reach::Everything, reason }
    }
}

/// A rule: its name, what it finds, what would mend that, and how it judges.
struct Rule {
    name: &'static str,
    finds: &'static str,
    mend: &'static str,
    judge: Judge,
}

enum Judge {
    /// Two runs against each other.
    Two(fn(&Two<'_>) -> Vec<Found>),
    /// Each run by itself.
    Each(fn(&Reading, &Policy) -> Vec<Found>),
}

/// All rules.
static RULES: [&Rule; 16] = [
    &offered::STREAMING,
    &offered::ARRIVALS,
    &offered::MIX,
    &offered::TRACE,
    &offered::WINDOWS,
    &offered::WARM_UP,
    &caches::CACHE_STATE,
    &caches::PREFIX_STATE,
    &deployments::HARDWARE,
    &deployments::TOKENIZER,
    &deployments::MODEL,
    &deployments::PROFILER,
    &measured::CLIENT,
    &measured::CONTRADICTION,
    &measured::HOST_LOAD,
    &measured::WARM_UP_INSIDE,
];

/// Asks every rule about two runs.
pub(super) fn check(base: Run<'_>, candidate: Run<'_>, policy: &Policy) -> Comparability {
    let trace = same_trace::decide((&base.0.info, base.1), (&candidate.0.info, candidate.1), policy);
    let two = Two { base, candidate, trace: &trace, policy };
    let rulings = RULES.iter().flat_map(|rule| match rule.judge {
        Judge::Two(judge) => ruled(rule, judge(&two)),
        Judge::Each(judge) => {
            let both = [base.0, candidate.0].into_iter().flat_map(|run| judge(run, policy));
            ruled(rule, both.collect())
        }
    });
    let rulings: BTreeSet<Ruling> = rulings.collect();
    Comparability { trace, rulings: rulings.into_iter().collect() }
}

/// What the rules for a single run say of one.
pub(super) fn of_run(run: &Reading, policy: &Policy) -> Vec<Ruling> {
    let rulings = RULES.iter().flat_map(|rule| match rule.judge {
        Judge::Two(_) => Vec::new(),
        Judge::Each(judge) => ruled(rule, judge(run, policy)),
    });
    let rulings: BTreeSet<Ruling> = rulings.collect();
    rulings.into_iter().collect()
}

fn ruled(rule: &Rule, found: Vec<Found>) -> Vec<Ruling> {
    let ruling = |Found { level, reach, reason }| Ruling {
        level,
        reach,
        rule: rule.name.into(),
        reason,
        mend: rule.mend.into(),
    };
    found.into_iter().map(ruling).collect()
}

/// The rules as Markdown.
pub fn page() -> String {
    let row = |rule: &&Rule| format!("| `{}` | {} | {} |\n", rule.name, rule.finds, rule.mend);
    let rows: String = RULES.iter().map(row).collect();
    format!("| rule | what it finds | what would mend it |\n|---|---|---|\n{rows}")
}
