//! What the steps of a comparison are taken on.

use super::AbOptions;
use crate::{
    drive::{Bench, Runs, complete_run},
    error::Error,
    event::RatioSoFar,
    plan::{Cell, warm_up},
    simulated,
    target::{SimulatedTarget, Target},
};
use firstcheck_analyze::compare::compare;
use firstcheck_model::{
    evidence::RunEvidence,
    moment::Moment,
    report::Verdict,
    run::{PairPlace, Role},
    unit::Seconds,
};
use firstcheck_sim::{SimulateOptions, simulate::Artefacts};
use firstcheck_workload::trace::Trace;
use std::{path::Path, sync::Arc};

/// The deployments of both sides, and the trace that both are offered.
pub(super) struct AbBench {
    pub options: AbOptions,
    trace: Option<(Seconds, Arc<Trace>)>,
}

/// One run to be made.
struct Order<'o> {
    role: Role,
    name: String,
    seed: u64,
    place: Option<PairPlace>,
    warm_up: Seconds,
    /// End of the window after the run's start; `None`: at the end of the trace.
    end: Option<Seconds>,
    bundle: &'o Path,
}

impl AbBench {
    pub fn new(options: AbOptions) -> Self {
        Self { options, trace: None }
    }

    /// Name of the experiment, in runs and salts.
    fn experiment(&self) -> String {
        let begun = &self.options.begun;
        let nonce = begun.nonce.as_ref().map_or(String::new(), |nonce| format!("-{nonce}"));
        format!("ab-{}{nonce}", begun.plan.seed)
    }

    /// The trace that covers this warm-up: made once, the same for all runs.
    fn trace(&mut self, warm_up: Seconds) -> Result<Arc<Trace>, Error> {
        if let Some((_, trace)) = self.trace.as_ref().filter(|(length, _)| *length == warm_up) {
            return Ok(Arc::clone(trace));
        }
        let trace = Arc::new((self.options.offer.trace)(warm_up).map_err(Error::Trace)?);
        self.trace = Some((warm_up, Arc::clone(&trace)));
        Ok(trace)
    }

    /// Makes a run and reads it back: what is judged is what a later reader of the bundle finds.
    fn make(&mut self, order: &Order<'_>) -> Result<RunEvidence, Error> {
        if let Some(reason) = self.options.stop.reason() {
            return Err(Error::Interrupted { reason });
        }
        let trace = self.trace(order.warm_up)?;
        let AbOptions { base, candidate, .. } = &self.options;
        let (ours, theirs) = match order.role {
            Role::Base => (base, candidate),
            Role::Candidate => (candidate, base),
        };
        match ours {
            Target::Simulated(target) => self.simulate(target, theirs.simulated(), &trace, order)?,
        }
        complete_run(order.bundle)
    }

    fn simulate(
        &self,
        target: &SimulatedTarget,
        other: Option<&SimulatedTarget>,
        trace: &Trace,
        order: &Order<'_>,
    ) -> Result<(), Error> {
        let offer = &self.options.offer;
        let mut options = SimulateOptions::new(order.seed, order.name.as_str());
        options.warm_up = order.warm_up;
        options.slo = offer.slo;
        options.scrape_interval = Seconds(offer.scrape_interval.as_secs_f64());
        options.window_end = order.end.map(|end| Moment::from_seconds(end.0));
        options.artefacts = Artefacts { steps: false, ..Artefacts::ALL };
        let mut simulated = simulated::record(&target.against(other, trace)?, trace, &options)?;
        let info = &mut simulated.recording.info;
        (info.place, info.load) = (order.place.clone(), offer.load);
        simulated::write(order.bundle, &simulated)
    }
}

impl Bench for AbBench {
    fn warm_up(&mut self, bundle: &Path) -> Result<Seconds, Error> {
        let order = Order {
            role: Role::Base,
            name: format!("{}-warm-up", self.experiment()),
            seed: self.options.begun.plan.seed,
            place: None,
            warm_up: Seconds(0.0),
            end: Some(Seconds(warm_up::LEAST_S)),
            bundle,
        };
        let run = self.make(&order)?;
        warm_up::learn(&run, true).ok_or(Error::NothingAnswered { requests: run.requests.len() })
    }

    fn run(&mut self, cell: Cell, warm_up: Seconds, bundle: &Path) -> Result<RunEvidence, Error> {
        let experiment = self.experiment();
        let window = self.options.offer.window;
        let order = Order {
            role: cell.role,
            name: simulated::run_name(&experiment, cell),
            seed: cell.seed,
            place: Some(simulated::place(&experiment, cell, &self.options.begun.plan.devices)),
            warm_up,
            end: window.map(|window| Seconds(warm_up.0 + window.as_secs_f64())),
            bundle,
        };
        self.make(&order)
    }

    fn look(&mut self, _: u32, runs: &Runs) -> Result<(Verdict, bool), Error> {
        let verdict = compare(&runs.base, &runs.candidate, &self.options.policy).verdict;
        Ok((verdict, matches!(verdict, Verdict::Pass | Verdict::Fail | Verdict::NotComparable)))
    }

    fn so_far(&mut self, runs: &Runs) -> Option<RatioSoFar> {
        RatioSoFar::of(&compare(&runs.base, &runs.candidate, &self.options.policy))
    }
}
