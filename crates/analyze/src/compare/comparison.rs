//! A comparison as it grows, pair by pair, and the report it ends in.

use super::{
    attribute::{self, Scope, Splits},
    columns::Columns,
    comparability::{self, Comparability, Level, Reach, Ruling},
    condition,
    difference::Differences,
    judging::{self, Judging},
    pair::Pair,
    plan::{Key, plan},
    policy::Policy,
    reading::{Cell, Reading},
    replicates::{self, Replicates},
    rows, sides, signature, tail,
    told::Told,
    twins,
};
use crate::figures::figures;
use firstcheck_model::{
    TOOL,
    evidence::RunEvidence,
    metric::{Metric, Stat},
    report::{Claim, MetricRow, Report, Sides, Verdict},
    run::Role,
};
use std::collections::BTreeSet;

/// Two sides under comparison. Pairs are reduced as they come, so that no caller has to hold more than one.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub(super) policy: Policy,
    keys: Vec<Key>,
    pairs: Vec<Pair>,
    base: Vec<(Reading, Columns)>,
    candidate: Vec<(Reading, Columns)>,
}

impl Comparison {
    /// An empty comparison under that policy.
    pub fn new(policy: Policy) -> Self {
        let keys = plan(&policy);
        Self { policy, keys, pairs: Vec::new(), base: Vec::new(), candidate: Vec::new() }
    }

    /// Pairs added so far.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// The policy it is held to.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What is looked at.
    pub(super) fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The pairs added so far.
    pub(super) fn paired(&self) -> &[Pair] {
        &self.pairs
    }

    /// Adds a pair: two runs that replayed one trace side by side.
    pub fn add_pair(&mut self, base: &RunEvidence, candidate: &RunEvidence) {
        self.add_told_pair((base, Told::default()), (candidate, Told::default()));
    }

    /// Adds a pair with what the logs tell of each run.
    pub fn add_told_pair(&mut self, base: (&RunEvidence, Told), candidate: (&RunEvidence, Told)) {
        self.pairs.push(Pair::of(base, candidate, &self.keys, &self.policy));
    }

    /// Adds a run without a partner: a replicate of its side.
    pub fn add_single(&mut self, role: Role, run: &RunEvidence) {
        self.add_told_single(role, (run, Told::default()));
    }

    /// Adds a run without a partner, with what its logs tell.
    pub fn add_told_single(&mut self, role: Role, (run, told): (&RunEvidence, Told)) {
        let side = match role {
            Role::Base => &mut self.base,
            Role::Candidate => &mut self.candidate,
        };
        side.push(Reading::of(run, told, &self.keys, &self.policy));
    }

    /// What the pairs and runs added so far say.
    pub fn finish(&self) -> Report {
        let mut report = Report::new("compare", TOOL);
        report.parameters = self.policy.parameters();
        report.seed = Some(self.policy.seed);
        let (base, candidate): (Vec<&Reading>, Vec<&Reading>) = (self.side(Role::Base), self.side(Role::Candidate));
        report.sides =
            Sides { base: sides::side(base.iter().copied()), candidate: sides::side(candidate.iter().copied()) };
        if let (Some(base), Some(candidate)) = (&report.sides.base, &report.sides.candidate) {
            Differences::between(&base.fingerprint, &candidate.fingerprint).put(&mut report);
        }
        let invalid: BTreeSet<String> = base.iter().chain(&candidate).flat_map(|r| sides::invalid(r)).collect();
        report.invalid = invalid.into_iter().collect();
        let mixed = |side, of: &[&Reading]| sides::mixed(side, of.iter().map(|r| &r.info.fingerprint));
        report.notes.extend(mixed("base", &base).into_iter().chain(mixed("the candidate", &candidate)));
        if self.pairs.len() > 1 {
            self.by_pairs(&mut report);
        } else if let Some(pair) = self.pairs.first() {
            report.notes.push("one pair: judged as single runs".into());
            self.by_one_pair(pair, &mut report);
        } else if base.is_empty() || candidate.is_empty() {
            report.verdict = Verdict::NotComparable;
            report.why.push("a side holds no run: give at least one for base and one for the candidate".into());
        } else if let ([(b, b_columns)], [(c, c_columns)]) = (&self.base[..], &self.candidate[..]) {
            let sides = ((b.clone(), b_columns), (c.clone(), c_columns));
            self.by_one_pair(&Pair::from_columns(sides.0, sides.1, &self.keys, &self.policy), &mut report);
        } else {
            self.by_replicates(&mut report);
        }
        self.note_unpaired(&mut report);
        settle_invalid(&mut report, &[base, candidate].concat());
        if report.verdict != Verdict::NotComparable {
            report.signatures = signature::signatures(&report, &self.policy);
        }
        report
    }

    fn side(&self, role: Role) -> Vec<&Reading> {
        let (paired, single): (Vec<&Reading>, _) = match role {
            Role::Base => (self.pairs.iter().map(|p| &p.base).collect(), &self.base),
            Role::Candidate => (self.pairs.iter().map(|p| &p.candidate).collect(), &self.candidate),
        };
        paired.into_iter().chain(single.iter().map(|(reading, _)| reading)).collect()
    }

    fn note_unpaired(&self, report: &mut Report) {
        let unpaired = self.base.len() + self.candidate.len();
        if !self.pairs.is_empty() && unpaired > 0 {
            report.notes.push(format!("{unpaired} runs without a partner are listed and take no part in any interval"));
        }
    }

    fn by_pairs(&self, report: &mut Report) {
        let mut judgings: Vec<Judging> =
            condition::sort(&self.pairs, &self.policy).into_iter().map(|cell| Judging::of(cell, &self.keys)).collect();
        let size = judgings.iter().map(Judging::size).sum();
        judgings.iter_mut().for_each(|judging| judging.close(size));
        (report.verdict, report.why) = judging::together(&judgings);
        report.cells = judgings.iter().filter_map(Judging::row).collect();
        for judging in &judgings {
            let from = report.metrics.len();
            report.metrics.extend(judging.rows());
            report.metrics.extend(self.tails(judging, &mut report.notes));
            self.finish_rows(report, from, &judging.pairs);
            report
                .notes
                .extend(judging.notes.iter().filter(|note| !report.notes.contains(note)).cloned().collect::<Vec<_>>());
        }
        self.stages_of(&judgings, report);
        refuse(report, self.pairs.iter().map(|pair| &pair.comparable));
    }

    fn tails(&self, judging: &Judging, notes: &mut Vec<String>) -> Vec<MetricRow> {
        let Judging { pairs, setting, .. } = judging;
        let median = |metric| self.keys.iter().position(|k| *k == Key { metric, stat: Stat::Quantile(0.5) });
        let mut rows = Vec::new();
        for (row, significant) in tail::rows(pairs, setting) {
            let medians = [median(Metric::Tpot), median(row.metric)];
            if significant && tail::tail_only(pairs, medians, setting.alpha) == Some(true) {
                notes.push(format!(
                    "tail only: few requests got slower in {}, the median request and the typical token did not",
                    row.metric.label()
                ));
            }
            rows.push(MetricRow { cell: judging.name.clone(), ..row });
        }
        rows
    }

    /// Stages of one cell: of the first that fails, else of the first.
    fn stages_of(&self, judgings: &[Judging], report: &mut Report) {
        let fails = |judging: &&Judging| judging.verdict().0 == Verdict::Fail;
        let Some(judging) = judgings.iter().find(fails).or(judgings.first()) else { return };
        self.split(report, &judging.pairs, judging.name.as_deref(), 1.0 - 2.0 * judging.setting.alpha);
        if let Some(name) = judging.name.as_ref().filter(|_| !report.stages.is_empty()) {
            report.notes.push(format!("the split of time is of the cell {name}"));
        }
    }

    fn by_one_pair(&self, pair: &Pair, report: &mut Report) {
        let runs = Replicates {
            base: vec![&pair.base],
            candidate: vec![&pair.candidate],
            comparable: vec![&pair.comparable],
            pair: Some(pair),
        };
        self.exploratory(&runs, report);
        self.finish_rows(report, 0, &[pair]);
        self.split(report, &[pair], None, 1.0 - 2.0 * self.policy.alpha);
        refuse(report, std::iter::once(&pair.comparable));
    }

    /// Where the time of what moved in a cell went.
    fn split(&self, report: &mut Report, pairs: &[&Pair], cell: Option<&str>, confidence: f64) {
        let splits: Vec<&Splits> = pairs.iter().map(|pair| &pair.splits).collect();
        let scope = Scope { metrics: &report.metrics, cell, confidence, policy: &self.policy };
        report.stages = attribute::rows(&splits, &scope);
    }

    fn by_replicates(&self, report: &mut Report) {
        let mut comparable: Vec<Comparability> = Vec::new();
        if let Some((first, columns)) = self.base.first() {
            // Every run against the first of base: all replicates of one workload are alike.
            for (reading, theirs) in self.base.iter().skip(1).chain(&self.candidate) {
                comparable.push(comparability::check((first, columns), (reading, theirs), &self.policy));
            }
        }
        let runs = Replicates {
            base: self.base.iter().map(|(reading, _)| reading).collect(),
            candidate: self.candidate.iter().map(|(reading, _)| reading).collect(),
            comparable: comparable.iter().collect(),
            pair: None,
        };
        self.exploratory(&runs, report);
        refuse(report, comparable.iter());
    }

    fn exploratory(&self, runs: &Replicates, report: &mut Report) {
        report.metrics = replicates::rows(runs, &self.keys, &self.policy);
        rows::drop_repeats(&mut report.metrics);
        (report.verdict, report.why) = replicates::verdict(&report.metrics, runs);
    }

    /// Says on the means over which requests they are.
    fn finish_rows(&self, report: &mut Report, from: usize, pairs: &[&Pair]) {
        let least = pairs.iter().filter_map(|pair| pair.complete_on_both).min_by(f64::total_cmp);
        if let Some(share) = least.filter(|share| *share < 1.0) {
            for row in
                report.metrics[from..].iter_mut().filter(|r| r.stat == "mean" && super::plan::is_latency(r.metric))
            {
                rows::annotate(row, format!("over the requests complete on both sides ({:.1} %)", share * 100.0));
            }
        }
    }
}

/// Pairs by place (experiment, cell and pair number); runs without a partner are replicates of their side. A run that a
/// side names twice counts once; one that stands on both sides would be compared with itself, which shows nothing.
pub fn compare(base: &[RunEvidence], candidate: &[RunEvidence], policy: &Policy) -> Report {
    compare_told(base, candidate, &|_, _| Told::default(), policy)
}

/// As [`compare`], with what the logs tell of each run.
pub fn compare_told(
    base: &[RunEvidence],
    candidate: &[RunEvidence],
    told: &dyn Fn(Role, &RunEvidence) -> Told,
    policy: &Policy,
) -> Report {
    let mut comparison = Comparison::new(policy.clone());
    let (base, mut notes) = twins::once(base);
    let (candidate, more) = twins::once(candidate);
    notes.extend(more);
    let place = |run: &RunEvidence| run.info.place.as_ref().map(|p| (p.experiment.clone(), p.cell.clone(), p.pair));
    let mut taken = vec![false; candidate.len()];
    for run in &base {
        let partner = place(run).and_then(|ours| {
            (0..candidate.len()).find(|at| !taken[*at] && place(candidate[*at]).as_ref() == Some(&ours))
        });
        match partner {
            Some(at) => {
                taken[at] = true;
                let other = candidate[at];
                comparison.add_told_pair((run, told(Role::Base, run)), (other, told(Role::Candidate, other)));
            }
            None => comparison.add_told_single(Role::Base, (run, told(Role::Base, run))),
        }
    }
    for (run, _) in candidate.iter().zip(taken).filter(|(_, taken)| !taken) {
        comparison.add_told_single(Role::Candidate, (run, told(Role::Candidate, run)));
    }
    let mut report = comparison.finish();
    report.notes.extend(notes);
    refuse_twins(&mut report, twins::on_both(&base, &candidate));
    report
}

/// How much a run's queue grew over its window: median TTFT of its last quarter over that of its first; `None` where that
/// cannot be told.
pub fn queue_growth(run: &RunEvidence, policy: &Policy) -> Option<f64> {
    Reading::of(run, Told::default(), &[], policy).0.growth
}

/// A single run's own report: its metrics stand as `candidate`, nothing is compared.
pub fn describe(run: &RunEvidence, policy: &Policy) -> Report {
    let keys = plan(policy);
    let (reading, _) = Reading::of(run, Told::default(), &keys, policy);
    let mut report = Report::new("run", TOOL);
    report.parameters = policy.parameters();
    report.seed = run.info.seed;
    report.sides.candidate = sides::side(std::iter::once(&reading));
    report.invalid = sides::invalid(&reading);
    report.invalid.extend(sides::empty(&reading));
    report.metrics = rows::of_one(&reading, &keys);
    report.figures = figures(&[], std::slice::from_ref(run));
    report.why = report.invalid.clone();
    report.comparability = comparability::of_run(&reading, policy);
    settle_invalid(&mut report, &[&reading]);
    report
}

/// Where something forbids the comparison, values are shown and no claim stands.
fn refuse<'a>(report: &mut Report, comparable: impl Iterator<Item = &'a Comparability> + Clone) {
    let rulings: BTreeSet<&Ruling> = comparable.clone().flat_map(|c| &c.rulings).collect();
    report.comparability = rulings.into_iter().cloned().collect();
    let refusals: BTreeSet<&str> = comparable.flat_map(Comparability::refusals).collect();
    refuse_because(report, refusals.into_iter().map(str::to_owned).collect());
}

fn refuse_twins(report: &mut Report, reasons: Vec<String>) {
    let ruling = |reason: &String| Ruling {
        level: Level::Blocks,
        reach: Reach::Everything,
        rule: "one-run-on-both-sides".into(),
        reason: reason.clone(),
        mend: "give each side runs of its own".into(),
    };
    report.comparability.splice(..0, reasons.iter().map(ruling));
    refuse_because(report, reasons);
}

fn refuse_because(report: &mut Report, reasons: Vec<String>) {
    if reasons.is_empty() {
        return;
    }
    report.verdict = Verdict::NotComparable;
    report.why = reasons;
    report.stages.clear();
    report.signatures.clear();
    report.cells.iter_mut().for_each(|cell| cell.verdict = Verdict::NotComparable);
    for row in &mut report.metrics {
        withdraw(row, Claim::NotComparable);
    }
}

/// Data that may not be believed supports no claim. With an invalid client there is nothing to compare at all.
fn settle_invalid(report: &mut Report, readings: &[&Reading]) {
    if report.invalid.is_empty() {
        return;
    }
    if report.verdict != Verdict::None && report.verdict != Verdict::NotComparable {
        let client = readings.iter().any(|r| r.info.client.as_ref().is_some_and(|c| c.invalid().is_some()));
        report.verdict = if client { Verdict::NotComparable } else { Verdict::Inconclusive };
        report.why = report.invalid.clone();
        let verdict = report.verdict;
        report.cells.iter_mut().for_each(|cell| cell.verdict = verdict);
    }
    for row in report.metrics.iter_mut().filter(|row| row.claim != Claim::NotComparable) {
        withdraw(row, Claim::NotClaimable);
    }
}

/// The values stay, what was concluded from them goes.
fn withdraw(row: &mut MetricRow, claim: Claim) {
    row.claim = claim;
    (row.interval, row.confidence, row.mde, row.note) = (None, None, None, None);
}

/// The cells of one key over several readings.
pub(super) fn cells<'a>(readings: &[&'a Reading], at: usize) -> Vec<&'a Cell> {
    readings.iter().map(|reading| &reading.cells[at]).collect()
}
