//! The rate at which an objective breaks: runs at rates that a search chooses, by the plan, ledger and driver of any
//! experiment.
//!
//! A sweep is a plan of one arm that looks after every run: what the search says after the runs so far is the next run's
//! rate, so that nothing but the runs has to be remembered.

mod search;

pub use search::{Next, Search};

use crate::{
    drive::{Bench, Deployments, Driven, Tell, drive},
    error::Error,
    event::{Event, RatioSoFar},
    ledger::Begun,
    plan::{Cell, Plan, WarmUp, file_name},
    rig::{Offer, Rig, TraceError},
    target::Target,
};
use firstcheck_analyze::{
    compare::Policy,
    sweep::{curve, level},
};
use firstcheck_load::Stop;
use firstcheck_model::{
    TOOL,
    evidence::RunEvidence,
    fingerprint::field,
    report::{Parameter, Report, Verdict},
    slo::Slo,
    sweep::{Curve, LevelRow, Sweep},
    unit::Seconds,
};
use firstcheck_workload::trace::Trace;
use std::{
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

/// A trace of its own for a run: warm-up, rate, seed, spread of lengths.
pub type RateTrace = Rc<dyn Fn(Seconds, f64, u64, Option<f64>) -> Result<Trace, TraceError>>;

/// What is swept, under which objective, and where it goes.
pub struct SweepOptions {
    /// The experiment; its plan is [`plan`].
    pub begun: Begun,
    /// What is measured.
    pub target: Target,
    /// What is offered, but for the rate.
    pub offer: Offer,
    /// What is offered at a rate.
    pub trace: RateTrace,
    /// The objective.
    pub slo: Slo,
    /// How rates are chosen.
    pub search: Search,
    /// Spreads of lengths, each with a search of its own; empty: as the workload says.
    pub length_cvs: Vec<f64>,
    /// Thresholds of a run's own report, GPUs and costs.
    pub policy: Policy,
    /// Folder of the ledgers and the bundles.
    pub out: PathBuf,
    /// Ends it early.
    pub stop: Stop,
}

/// How it ended.
#[derive(Debug, Clone)]
pub struct Swept {
    /// What was found.
    pub report: Report,
    /// The bundles.
    pub bundles: Vec<PathBuf>,
    /// Why it was interrupted, if it was.
    pub interrupted: Option<String>,
}

/// The plan of a sweep: one run after the other, a look after each.
pub fn plan(most_runs: u32, seed: u64, warm_up: WarmUp) -> Plan {
    Plan { arms: vec!["rate".into()], looks: (1..=most_runs).collect(), warm_up, ..Plan::of_pairs(most_runs, seed) }
}

/// Sweeps each mix. In a folder of the same sweep it goes on where that ended.
///
/// # Errors
/// A deployment that cannot be started, a folder that cannot be written.
pub fn sweep(options: SweepOptions, tell: &mut dyn FnMut(Event)) -> Result<Swept, Error> {
    options.begun.plan.check()?;
    let mixes: Vec<Option<f64>> = match &options.length_cvs[..] {
        [] => vec![None],
        cvs => cvs.iter().copied().map(Some).collect(),
    };
    let (mut curves, mut bundles, mut interrupted) = (Vec::new(), Vec::new(), None);
    let mut last = None;
    for (at, mix) in mixes.iter().enumerate() {
        let mut begun = options.begun.clone();
        // The warm-up of the first mix holds for all.
        begun.plan.warm_up = last.map_or(begun.plan.warm_up, WarmUp::Fixed);
        let folder = match mix {
            None => options.out.clone(),
            Some(cv) => {
                tell(Event::Phase { title: format!("lengths that spread by {cv} of their mean") });
                begun.subject.insert("length cv".into(), cv.to_string());
                options.out.join(file_name(&format!("length-cv-{cv}")))
            }
        };
        let place = (folder.clone(), options.stop.clone());
        let rig = Rig::new("sweep", begun.clone(), vec![options.target.clone()], options.offer.clone(), place);
        let mut bench = SweepBench { rig, options: &options, cv: *mix, levels: Vec::new(), gpus: None };
        let driven = drive(begun, &folder, &mut bench, tell)?;
        let Driven { bundles: made, end, warm_up } = driven;
        (last, bundles) = (Some(warm_up), [bundles, made].concat());
        let mut policy = options.search.curve;
        policy.gpus = policy.gpus.or(bench.gpus);
        curves.push(curve(*mix, bench.levels.into_iter().map(|(_, level)| level).collect(), &policy)?);
        if let Err(reason) = end {
            let left = mixes.len() - at - 1;
            interrupted = Some(if left > 0 { format!("{reason}; {left} mixes were not begun") } else { reason });
            break;
        }
    }
    let report = report(&options, curves, interrupted.as_deref());
    Ok(Swept { report, bundles, interrupted })
}

fn report(options: &SweepOptions, curves: Vec<Curve>, interrupted: Option<&str>) -> Report {
    let mut report = Report::new("sweep", TOOL);
    report.seed = Some(options.begun.plan.seed);
    for curve in &curves {
        let of = curve.length_cv.map_or(String::new(), |cv| format!("lengths that spread by {cv}: "));
        report.why.extend(curve.why.iter().map(|why| format!("{of}{why}")));
    }
    let told = curves.iter().all(|curve| curve.breaks.as_ref().is_some_and(|breaks| breaks.interval.is_some()));
    report.verdict = if told && interrupted.is_none() { Verdict::None } else { Verdict::Inconclusive };
    if let Some(reason) = interrupted {
        report.why.insert(0, format!("interrupted: {reason}; the same command goes on from there"));
    }
    let (search, curve) = (&options.search, &options.search.curve);
    let parameters = [
        ("target_share", curve.target_share, "1", "share of the offered requests that has to meet the objective"),
        ("confidence", curve.confidence, "1", "confidence of the interval of the breaking rate"),
        ("near", curve.near, "1", "runs at rates within this factor of the breaking one are fitted"),
        ("knee_ratio", curve.knee_ratio, "1", "p95 TTFT over that at the lowest rate beyond which the knee lies"),
        ("precision", search.precision, "1", "half width of the interval at which the search ends"),
        ("least_runs", f64::from(search.least_runs), "runs", "fewest runs behind an interval"),
        ("most_runs", f64::from(search.most_runs), "runs", "most runs of a search"),
        (
            "queue_growth",
            options.policy.queue_growth,
            "1",
            "median TTFT of the last quarter over the first from which the queue grows",
        ),
    ];
    for (name, value, unit, meaning) in parameters {
        let parameter = Parameter { value, unit: unit.into(), meaning: meaning.into() };
        report.parameters.insert(format!("sweep.{name}"), parameter);
    }
    report.sweep = Some(Sweep { slo: options.slo, target_share: curve.target_share, curves });
    report
}

/// What a run at a rate is called; the number is read back as it was.
fn condition(rate: f64) -> String {
    format!("rate {rate}")
}

fn rate_of(condition: &str) -> Option<f64> {
    condition.strip_prefix("rate ")?.parse().ok()
}

/// One deployment, at one rate after the other.
struct SweepBench<'s> {
    rig: Rig,
    options: &'s SweepOptions,
    cv: Option<f64>,
    /// Runs so far by their number.
    levels: Vec<(u32, LevelRow)>,
    gpus: Option<f64>,
}

impl SweepBench<'_> {
    /// What the search says after the first `runs` runs.
    fn next(&self, runs: u32) -> Result<Next, Error> {
        let before: Vec<LevelRow> =
            self.levels.iter().filter(|(number, _)| *number < runs).map(|(_, level)| level.clone()).collect();
        Ok(self.options.search.next(&before)?)
    }

    fn rate(&self, number: u32) -> Result<f64, Error> {
        match self.next(number)? {
            Next::Run(rate) => Ok(rate),
            // Only a run that was lost after the search had ended: any rate near the end does.
            Next::Done => Ok(self.levels.last().map_or(self.options.search.start, |(_, level)| level.rate)),
        }
    }
}

impl Bench for SweepBench<'_> {
    fn deployments(&mut self) -> &mut dyn Deployments {
        &mut self.rig
    }

    fn run(&mut self, cell: Cell, warm_up: Seconds, bundle: &Path, tell: Tell<'_>) -> Result<RunEvidence, Error> {
        let rate = self.rate(cell.pair)?;
        let trace = (self.options.trace)(warm_up, rate, cell.seed, self.cv).map_err(Error::Trace)?;
        self.rig.run_on((Arc::new(trace), Some(condition(rate))), cell, warm_up, bundle, tell)
    }

    fn keep(&mut self, cell: Cell, run: RunEvidence) {
        let Some(rate) = run.info.place.as_ref().and_then(|place| rate_of(place.cell.as_deref()?)) else { return };
        self.gpus = self.gpus.or_else(|| run.info.fingerprint.number(field::GPU_COUNT));
        let policy = Policy { slo: Some(self.options.slo), ..self.options.policy.clone() };
        let row = level(&run, rate, &policy);
        let at = self.levels.partition_point(|(number, _)| *number < cell.pair);
        self.levels.insert(at, (cell.pair, row));
    }

    fn look(&mut self, runs: u32) -> Result<(Verdict, bool), Error> {
        Ok((Verdict::None, self.next(runs)? == Next::Done))
    }

    fn so_far(&mut self) -> Option<RatioSoFar> {
        None
    }
}
