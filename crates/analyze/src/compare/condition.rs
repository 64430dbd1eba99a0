//! Cells: conditions under which pairs are judged by themselves, cold and warm, low and high load, long prompts.

use super::{
    pair::Pair,
    policy::{Gate, Policy, PolicyError, ascending, check_gates, range},
    reading::Reading,
};
use firstcheck_model::run::CacheState;
use serde::{Deserialize, Serialize};

/// A cell of the gate. A pair is of it when its runs carry its name, or when they carry none and everything that is asked
/// here holds for both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Its name in reports.
    pub name: String,
    /// A folder that the runs lie in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// State of the prefix cache when the window began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheState>,
    /// Lowest load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_load: Option<f64>,
    /// Highest load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_load: Option<f64>,
    /// Fewest prompt tokens a request, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_prompt_tokens: Option<f64>,
    /// Most prompt tokens a request, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_prompt_tokens: Option<f64>,
    /// Gates of its own; without them those of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<Vec<Gate>>,
    /// Whether a pass needs it.
    #[serde(default = "yes")]
    pub required: bool,
}

fn yes() -> bool {
    true
}

impl Condition {
    /// A cell that runs are of by carrying its name.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            folder: None,
            cache: None,
            least_load: None,
            most_load: None,
            least_prompt_tokens: None,
            most_prompt_tokens: None,
            gates: None,
            required: true,
        }
    }

    fn asks(&self) -> bool {
        *self != Self { gates: self.gates.clone(), required: self.required, ..Self::named(self.name.clone()) }
    }

    fn holds(&self, run: &Reading) -> bool {
        let within = |value: Option<f64>, least: Option<f64>, most: Option<f64>| {
            least.is_none_or(|least| value.is_some_and(|v| v >= least))
                && most.is_none_or(|most| value.is_some_and(|v| v <= most))
        };
        let inside = |folder: &String| run.label.split(['/', '\\']).any(|part| part == folder);
        self.folder.as_ref().is_none_or(inside)
            && self.cache.is_none_or(|cache| cache == run.info.workload.cache)
            && within(run.info.load, self.least_load, self.most_load)
            && within(run.prompt_tokens, self.least_prompt_tokens, self.most_prompt_tokens)
    }

    fn has(&self, pair: &Pair) -> bool {
        match pair.cell() {
            Some(carried) => carried == self.name,
            None => self.asks() && pair.sides().into_iter().all(|side| self.holds(side)),
        }
    }
}

/// Whether the cells of a policy can be told apart and followed.
pub(super) fn check(cells: &[Condition]) -> Result<(), PolicyError> {
    for (at, cell) in cells.iter().enumerate() {
        let wrong = |why| Err(PolicyError::Cell { name: cell.name.clone(), why });
        if cell.name.trim().is_empty() {
            return wrong("has no name");
        }
        if cell.name == OTHER {
            return wrong("has the name of what is left over");
        }
        if cells[..at].iter().any(|other| other.name == cell.name) {
            return wrong("is given twice");
        }
        for (name, value) in [
            ("least_load", cell.least_load),
            ("most_load", cell.most_load),
            ("least_prompt_tokens", cell.least_prompt_tokens),
            ("most_prompt_tokens", cell.most_prompt_tokens),
        ] {
            let Some(value) = value else { continue };
            range(&format!("{name} of cell {}", cell.name), value, value >= 0.0, "it must be zero or more")?;
        }
        for (least, most, what) in [
            (cell.least_load, cell.most_load, "load"),
            (cell.least_prompt_tokens, cell.most_prompt_tokens, "prompt_tokens"),
        ] {
            let (Some(least), Some(most)) = (least, most) else { continue };
            let of = |end: &str| format!("{end}_{what} of cell {}", cell.name);
            ascending((&of("least"), least), (&of("most"), most), "no run could be of it: exchange the two")?;
        }
        check_gates(cell.gates.as_deref().unwrap_or(&[]))?;
    }
    Ok(())
}

/// Pairs that are of no cell, where there are cells.
const OTHER: &str = "other";

/// The pairs of one cell, with the policy that holds there.
pub(super) struct CellOfPairs<'p> {
    /// `None`: there are no cells.
    pub name: Option<String>,
    pub required: bool,
    pub policy: Policy,
    pub pairs: Vec<&'p Pair>,
}

/// All pairs by cell: the cells of the policy first, with pairs or without, then those that only the runs name.
pub(super) fn sort<'p>(pairs: &'p [Pair], policy: &Policy) -> Vec<CellOfPairs<'p>> {
    let mut cells = policy.cells.clone();
    for carried in pairs.iter().filter_map(Pair::cell) {
        if !cells.iter().any(|cell| cell.name == carried) {
            cells.push(Condition::named(carried));
        }
    }
    if cells.is_empty() {
        let (name, pairs) = (None, pairs.iter().collect());
        return vec![CellOfPairs { name, required: true, policy: policy.clone(), pairs }];
    }
    cells.push(Condition::named(OTHER));
    let mut sorted: Vec<CellOfPairs> = Vec::new();
    for cell in &cells {
        let gates = cell.gates.clone().unwrap_or_else(|| policy.gates.clone());
        let policy = Policy { gates, cells: Vec::new(), ..policy.clone() };
        sorted.push(CellOfPairs { name: Some(cell.name.clone()), required: cell.required, policy, pairs: Vec::new() });
    }
    for pair in pairs {
        let at = cells.iter().position(|cell| cell.has(pair)).unwrap_or(cells.len() - 1);
        sorted[at].pairs.push(pair);
    }
    sorted.retain(|cell| !cell.pairs.is_empty() || cell.name.as_deref() != Some(OTHER));
    sorted
}
