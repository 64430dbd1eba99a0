//! The demonstration: the whole way once, on the embedded simulated engine.

pub mod incident;
mod live;

use crate::{
    drive::{Runs, drive_pairs},
    error::Error,
    event::{Event, RatioSoFar},
    plan::pairs::{Cell, PairPlan},
    simulated::{SimulatedRuns, run_name},
};
use firstcheck_analyze::{compare::Policy, judge::judge, settings::Settings};
use firstcheck_model::{
    evidence::{Evidence, RunEvidence},
    metric::Metric,
    report::Report,
    run::Role,
    unit::Seconds,
};
use firstcheck_sim::EngineConfig;
use firstcheck_workload::trace::Trace;
use std::path::PathBuf;

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
    let runs = virtual_pairs(options, tell)?;
    bundles.extend(runs.bundles.iter().cloned());
    let (base, candidate) = (Evidence::of(runs.base), Evidence::of(runs.candidate));
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

fn virtual_pairs(options: &DemoOptions, tell: &mut dyn FnMut(Event)) -> Result<Runs, Error> {
    let plan = PairPlan { pairs: options.pairs, seed: options.seed };
    let incident = Incident::new(plan.seed)?;
    drive_pairs(
        plan,
        &options.out.join("pairs"),
        &mut |cell, path| incident.runs().run(incident.engine(cell), cell, path),
        &mut |_, runs| ratio_so_far(runs),
        tell,
    )
}

/// The runs of `plan` on the incident, in memory: base's and candidate's, by pair.
///
/// # Errors
/// None for the incident's parameters; the simulated engine's own otherwise.
pub fn incident_pairs(plan: PairPlan) -> Result<(Vec<RunEvidence>, Vec<RunEvidence>), Error> {
    let incident = Incident::new(plan.seed)?;
    let (mut base, mut candidate) = (Vec::new(), Vec::new());
    for cell in plan.cells() {
        let recording = incident.runs().record(incident.engine(cell), cell)?;
        let side = match cell.role {
            Role::Base => &mut base,
            Role::Candidate => &mut candidate,
        };
        side.push(recording.into_evidence(run_name(&incident.experiment, cell)));
    }
    Ok((base, candidate))
}

/// The incident ready to run: one trace, two engines.
struct Incident {
    experiment: String,
    trace: Trace,
    base: EngineConfig,
    candidate: EngineConfig,
}

impl Incident {
    fn new(seed: u64) -> Result<Self, Error> {
        let trace = incident::trace(WINDOW_S + WARM_UP_S, seed)?;
        let (base, candidate) = (incident::base(), incident::candidate());
        Ok(Self { experiment: format!("demo-{seed}"), trace, base, candidate })
    }

    fn runs(&self) -> SimulatedRuns<'_> {
        let (experiment, trace) = (&self.experiment, &self.trace);
        SimulatedRuns { experiment, trace, warm_up: Seconds(WARM_UP_S), slo: incident::slo() }
    }

    fn engine(&self, cell: Cell) -> &EngineConfig {
        match cell.role {
            Role::Base => &self.base,
            Role::Candidate => &self.candidate,
        }
    }
}

/// The p95 TTFT ratio over the pairs so far, with its interval once there is one.
fn ratio_so_far(runs: &Runs) -> Option<RatioSoFar> {
    let report = firstcheck_analyze::compare::compare(&runs.base, &runs.candidate, &policy());
    let row = report.metric(Metric::Ttft, "p95")?;
    let interval = row.interval.and_then(|[low, high]| Some([low.finite()?, high.finite()?]));
    Some(RatioSoFar { ratio: row.ratio?.finite()?, interval: interval.filter(|_| row.pairs > 1) })
}
