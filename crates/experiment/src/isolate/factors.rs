//! Combinations of factors in blocks on one trace.

use super::Isolated;
use crate::{
    ab::side,
    drive::{Bench, Deployments, Driven, Runs, drive},
    error::Error,
    event::{Event, RatioSoFar},
    ledger::Begun,
    plan::Cell,
    rig::{Offer, Rig},
    target::Target,
};
use firstcheck_analyze::{
    compare::{Policy, compare},
    isolate::{Block, FactorPolicy, Grid, Key, Layout, Taken, effects, named},
    judge::judge,
    settings::Settings,
};
use firstcheck_load::Stop;
use firstcheck_model::{
    evidence::RunEvidence,
    isolation::{CombinationRow, CombinationState, Isolation, TypicalValue},
    report::{Quantity, Report, Verdict},
};
use std::path::PathBuf;

/// What is run, how it is judged, and where it goes.
pub struct FactorsOptions {
    /// The experiment: its plan has an arm for each combination of the layout.
    pub begun: Begun,
    /// The factors and what may be combined.
    pub grid: Grid,
    /// What is run.
    pub layout: Layout,
    /// The deployment of each combination of the layout.
    pub targets: Vec<Target>,
    /// What all are offered.
    pub offer: Offer,
    /// What base and candidate are held to, and whose gated metrics effects are of.
    pub policy: Policy,
    /// What effects are looked at.
    pub keys: Vec<Key>,
    /// What a claim on factors takes.
    pub factors: FactorPolicy,
    /// Parameters of checks.
    pub settings: Settings,
    /// Folder of the ledger and the bundles.
    pub out: PathBuf,
    /// Ends it early.
    pub stop: Stop,
}

/// Runs all blocks and says which factor makes it worse. In a folder with a ledger of the same experiment it goes on where
/// that ended.
///
/// # Errors
/// A plan that does not balance, a deployment that cannot be started, a folder that cannot be written.
pub fn factors(options: FactorsOptions, tell: &mut dyn FnMut(Event)) -> Result<Isolated, Error> {
    let FactorsOptions { begun, grid, layout, targets, offer, policy, keys, factors, settings, out, stop } = options;
    begun.plan.check()?;
    let rig = Rig::new("isolate", begun.clone(), targets, offer, (out.clone(), stop));
    let last = layout.arms.len() - 1;
    let mut bench = FactorsBench { rig, runs: Runs::default(), policy, last };
    let Driven { bundles, end, .. } = drive(begun.clone(), &out, &mut bench, tell)?;
    let FactorsBench { mut runs, policy, .. } = bench;
    let taken = taken(&runs, &layout, &keys, &policy);
    let refusals = (1..last).filter_map(|arm| refusal(&grid, &layout, &runs, arm, &policy));
    let refusals: Vec<String> = refusals.collect();
    let combinations = combinations(&grid, &layout, &keys, &taken);
    let blocks = blocks(&taken, begun.plan.pairs);
    let (base, candidate) = (side(runs.take(0)), side(runs.take(last)));
    drop(runs);
    let mut report = judge(&base, &candidate, &policy, &settings);
    report.verb = "isolate".into();
    report.seed = Some(begun.plan.seed);
    let rows = effects(&layout, &blocks, &keys, &factors)?;
    let means = means(&blocks, layout.arms.len(), keys.len());
    let said = named(&grid, &layout, &keys, &rows, &means);
    conclude(&mut report, !said.culprits.is_empty(), said.why, refusals);
    if let Err(reason) = &end {
        interrupted(&mut report, reason, blocks.len(), begun.plan.pairs);
    }
    let culprits = if report.verdict == Verdict::NotComparable { Vec::new() } else { said.culprits };
    let method = layout.method;
    report.isolation =
        Some(Isolation { method, culprits, suspects: Vec::new(), combinations, effects: rows, steps: Vec::new() });
    Ok(Isolated { report, bundles, interrupted: end.err() })
}

/// What is said stands before what the comparison of the ends says. Named factors are a failure, also where the ends as a
/// whole are within their margins.
fn conclude(report: &mut Report, culprits: bool, why: Vec<String>, refusals: Vec<String>) {
    if !refusals.is_empty() {
        report.verdict = Verdict::NotComparable;
        report.why.splice(..0, refusals);
        return;
    }
    if report.verdict == Verdict::NotComparable {
        return;
    }
    if culprits {
        report.verdict = Verdict::Fail;
    }
    report.why.splice(..0, why);
}

fn interrupted(report: &mut Report, reason: &str, blocks: usize, planned: u32) {
    if report.verdict != Verdict::NotComparable {
        report.verdict = Verdict::Inconclusive;
    }
    let why = format!("interrupted after {blocks} of {planned} blocks: {reason}; the same command goes on from there");
    report.why.insert(0, why);
}

/// A run of an arm: its block, its place in it, and what was taken of it.
type TakenRun = (u32, u8, Taken);

fn taken(runs: &Runs, layout: &Layout, keys: &[Key], policy: &Policy) -> Vec<Vec<TakenRun>> {
    let of = |run: &RunEvidence| {
        let place = run.info.place.as_ref()?;
        Some((place.pair, place.order, Taken::of(run, keys, policy)))
    };
    (0..layout.arms.len()).map(|arm| runs.of(arm).iter().filter_map(of).collect()).collect()
}

/// Blocks of which at least one run is there.
fn blocks(taken: &[Vec<TakenRun>], planned: u32) -> Vec<Block> {
    let of = |block: u32| {
        let runs: Vec<Option<&TakenRun>> = taken.iter().map(|arm| arm.iter().find(|run| run.0 == block)).collect();
        runs.iter().any(Option::is_some).then(|| Block {
            order: runs.iter().map(|run| run.map_or(0.0, |run| f64::from(run.1))).collect(),
            arms: runs.iter().map(|run| run.map(|run| run.2.clone())).collect(),
        })
    };
    (0..planned).filter_map(of).collect()
}

/// Mean of each arm over the blocks in which all arms have a value, by key.
fn means(blocks: &[Block], arms: usize, keys: usize) -> Vec<Vec<Option<f64>>> {
    let value = |block: &Block, arm: usize, key: usize| block.arms[arm].as_ref()?.scaled[key];
    let mean = |arm: usize, key: usize| {
        let whole = blocks.iter().filter(|block| (0..arms).all(|arm| value(block, arm, key).is_some()));
        let values: Vec<f64> = whole.filter_map(|block| value(block, arm, key)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    (0..arms).map(|arm| (0..keys).map(|key| mean(arm, key)).collect()).collect()
}

/// Why the runs of an arm may not be compared with base's.
fn refusal(grid: &Grid, layout: &Layout, runs: &Runs, arm: usize, policy: &Policy) -> Option<String> {
    let report = compare(runs.of(0), runs.of(arm), policy);
    let refused = report.verdict == Verdict::NotComparable && !runs.of(arm).is_empty() && !runs.of(0).is_empty();
    let why = report.why.first().filter(|_| refused)?;
    Some(format!("{} may not be compared with base: {why}", grid.describe(&layout.arms[arm])))
}

/// Every combination of first and last levels and every one that was run.
fn combinations(grid: &Grid, layout: &Layout, keys: &[Key], taken: &[Vec<TakenRun>]) -> Vec<CombinationRow> {
    let others = grid.corners().into_iter().filter(|corner| !layout.arms.contains(corner));
    layout
        .arms
        .iter()
        .cloned()
        .chain(others)
        .enumerate()
        .map(|(at, combination)| {
            let runs = taken.get(at).filter(|_| at < layout.arms.len());
            let factors = grid.factors().iter().zip(&combination);
            let state = match (runs, grid.forbids(&combination)) {
                (Some(_), _) => CombinationState::Run,
                (None, Some(_)) => CombinationState::Forbidden,
                (None, None) => CombinationState::NotNeeded,
            };
            let value = |(at, key): (usize, &Key)| {
                let values = runs?.iter().map(|(_, _, taken)| taken.values[at]);
                let value = median(values.collect::<Option<_>>()?)?;
                Some(TypicalValue { metric: key.metric, stat: key.stat.to_string(), value })
            };
            CombinationRow {
                name: grid.short(&combination),
                levels: factors.map(|(factor, level)| (factor.name.clone(), factor.levels[*level].clone())).collect(),
                state,
                why: grid.forbids(&combination).flatten().map(ToOwned::to_owned),
                runs: runs.map_or(0, |runs| runs.len() as u64),
                values: keys.iter().enumerate().filter_map(value).collect(),
            }
        })
        .collect()
}

fn median(mut values: Vec<Quantity>) -> Option<Quantity> {
    let size = |quantity: &Quantity| quantity.finite().unwrap_or(f64::INFINITY);
    values.sort_by(|a, b| size(a).total_cmp(&size(b)));
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// One arm a combination.
struct FactorsBench {
    rig: Rig,
    runs: Runs,
    policy: Policy,
    last: usize,
}

impl Bench for FactorsBench {
    fn deployments(&mut self) -> &mut dyn Deployments {
        &mut self.rig
    }

    fn keep(&mut self, cell: Cell, run: RunEvidence) {
        self.runs.add(cell, run);
    }

    fn look(&mut self, _: u32) -> Result<(Verdict, bool), Error> {
        Ok((Verdict::None, false))
    }

    fn so_far(&mut self) -> Option<RatioSoFar> {
        RatioSoFar::of(&compare(self.runs.of(0), self.runs.of(self.last), &self.policy))
    }
}
