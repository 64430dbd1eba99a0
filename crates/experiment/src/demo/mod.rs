//! The demonstration: the whole way once, on the embedded simulated engine.

pub mod incident;
mod live;

use crate::{
    drive::{Bench, Deployments, Runs, Tell, drive},
    error::Error,
    event::{Event, RatioSoFar},
    ledger::Begun,
    plan::{Cell, Plan, WarmUp},
    simulated::{self, run_name},
};
use firstcheck_analyze::{
    compare::{Policy, compare},
    judge::judge,
    settings::Settings,
};
use firstcheck_bundle::write_recording;
use firstcheck_model::{
    evidence::{Evidence, RunEvidence},
    recording::Recording,
    report::{Report, Verdict},
    run::Role,
    unit::Seconds,
};
use firstcheck_sim::{EngineConfig, Scenario, SimulateOptions};
use firstcheck_workload::trace::Trace;
use std::path::{Path, PathBuf};

/// How the demonstration runs.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// Seed of everything random: workload, order of runs, the engines' noise.
    pub seed: u64,
    /// Virtual time only, no live pair.
    pub fast: bool,
    /// Pairs in virtual time; at least 2.
    pub pairs: u32,
    /// Where the bundles go.
    pub out: PathBuf,
}

/// What the demonstration found.
#[derive(Debug, Clone)]
pub struct DemoOutcome {
    /// The live pair by itself: exploratory, kept out of the interval. `None` with `fast`.
    pub live: Option<Report>,
    /// The pairs in virtual time: these decide.
    pub report: Report,
    /// Every bundle written.
    pub bundles: Vec<PathBuf>,
}

/// Window of a run in virtual time, seconds.
const WINDOW_S: f64 = 300.0;
/// Warm-up of a run in virtual time, seconds.
const WARM_UP_S: f64 = 30.0;

/// Runs the demonstration. `tell` hears of its progress.
///
/// # Errors
/// A folder that cannot be written, or a server that cannot be started on loopback.
pub fn demo(options: &DemoOptions, tell: &mut dyn FnMut(Event)) -> Result<DemoOutcome, Error> {
    let mut bundles = Vec::new();
    let live = if options.fast { None } else { Some(live::live_pair(options, &mut bundles, tell)?) };
    tell(Event::Phase { title: format!("{} pairs in virtual time: these decide", options.pairs) });
    let (mut runs, paired) = virtual_pairs(options, tell)?;
    bundles.extend(paired);
    let (base, candidate) = (Evidence::of(runs.take(0)), Evidence::of(runs.take(1)));
    let mut report = judge(&base, &candidate, &policy(), &Settings::default());
    report.verb = "demo".into();
    report.seed = Some(options.seed);
    report.notes.push(format!("{} pairs in virtual time decide; seed {}", options.pairs, options.seed));
    Ok(DemoOutcome { live, report, bundles })
}

/// The policy of the demonstration: the defaults, under its objective.
pub fn policy() -> Policy {
    Policy { slo: Some(incident::slo()), ..Policy::default() }
}

fn virtual_pairs(options: &DemoOptions, tell: &mut dyn FnMut(Event)) -> Result<(Runs, Vec<PathBuf>), Error> {
    let begun = Begun::by(plan(options.pairs, options.seed));
    let mut incident = Incident::new(begun.plan.clone())?;
    let driven = drive(begun, &options.out.join("pairs"), &mut incident, tell)?;
    Ok((incident.runs, driven.bundles))
}

fn plan(pairs: u32, seed: u64) -> Plan {
    Plan { warm_up: WarmUp::Fixed(Seconds(WARM_UP_S)), ..Plan::of_pairs(pairs, seed) }
}

/// `pairs` pairs of runs on the incident, in memory: base's and candidate's, by pair.
///
/// # Errors
/// None for the incident's parameters; the simulated engine's own otherwise.
pub fn incident_pairs(pairs: u32, seed: u64) -> Result<(Vec<RunEvidence>, Vec<RunEvidence>), Error> {
    let incident = Incident::new(plan(pairs, seed))?;
    let (mut base, mut candidate) = (Vec::new(), Vec::new());
    for cell in incident.plan.cells() {
        let recording = incident.record(cell, Seconds(WARM_UP_S))?;
        let side = match cell.role {
            Role::Base => &mut base,
            Role::Candidate => &mut candidate,
        };
        side.push(recording.into_evidence(run_name(&incident.experiment, cell, &incident.plan)));
    }
    Ok((base, candidate))
}

/// The incident ready to run: one trace, two engines.
struct Incident {
    experiment: String,
    plan: Plan,
    trace: Trace,
    base: EngineConfig,
    candidate: EngineConfig,
    runs: Runs,
}

impl Incident {
    fn new(plan: Plan) -> Result<Self, Error> {
        let seed = plan.seed;
        let trace = incident::trace(WINDOW_S + WARM_UP_S, seed)?;
        let (base, candidate) = (incident::base(), incident::candidate());
        Ok(Self { experiment: format!("demo-{seed}"), plan, trace, base, candidate, runs: Runs::default() })
    }

    fn record(&self, cell: Cell, warm_up: Seconds) -> Result<Recording, Error> {
        let engine = match cell.role {
            Role::Base => &self.base,
            Role::Candidate => &self.candidate,
        };
        let mut options = SimulateOptions::new(cell.seed, run_name(&self.experiment, cell, &self.plan));
        options.warm_up = warm_up;
        options.slo = Some(incident::slo());
        let mut recording = simulated::record(&Scenario::single(engine.clone()), &self.trace, &options)?.recording;
        recording.info.place = Some(simulated::place(&self.experiment, cell, &self.plan));
        Ok(recording)
    }
}

impl Deployments for Incident {
    fn warm_up(&mut self, _: &Path, _: Tell<'_>) -> Result<Seconds, Error> {
        Ok(Seconds(WARM_UP_S))
    }

    fn run(&mut self, cell: Cell, warm_up: Seconds, bundle: &Path, _: Tell<'_>) -> Result<RunEvidence, Error> {
        let recording = self.record(cell, warm_up)?;
        write_recording(bundle, &recording)?;
        Ok(recording.into_evidence(bundle.display().to_string()))
    }
}

impl Bench for Incident {
    fn deployments(&mut self) -> &mut dyn Deployments {
        self
    }

    fn keep(&mut self, cell: Cell, run: RunEvidence) {
        self.runs.add(cell, run);
    }

    fn look(&mut self, _: u32) -> Result<(Verdict, bool), Error> {
        Ok((Verdict::None, false))
    }

    fn so_far(&mut self) -> Option<RatioSoFar> {
        RatioSoFar::of(&compare(self.runs.of(0), self.runs.of(1), &policy()))
    }
}
