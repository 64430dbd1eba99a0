//! What the steps of a comparison are taken on: real deployments and simulated ones.

use super::{AbOptions, measured::Measured};
use crate::{
    drive::{Bench, Runs, Tell, cell_folder, complete_run},
    error::Error,
    event::RatioSoFar,
    ledger::{Process, Standing},
    plan::{Cell, Errand, warm_up},
    simulated,
    target::{Hooks, Served, SimulatedTarget, Target, end_abandoned},
};
use firstcheck_analyze::compare::{Comparison, SoFar};
use firstcheck_model::{
    evidence::RunEvidence,
    moment::Moment,
    report::Verdict,
    run::{PairPlace, Role},
    unit::Seconds,
};
use firstcheck_sim::{SimError, SimulateOptions, simulate::Artefacts};
use firstcheck_workload::trace::Trace;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Folder of the logs of servers that were started.
const LOGS: &str = "logs";

/// The deployments of both sides, and the trace that both are offered.
pub(super) struct AbBench {
    pub options: AbOptions,
    trace: Option<(Seconds, Arc<Trace>)>,
    served: Option<Served>,
}

/// One run to be made.
pub(super) struct Order<'o> {
    pub role: Role,
    pub name: String,
    pub seed: u64,
    pub place: Option<PairPlace>,
    pub warm_up: Seconds,
    /// Length of the window; `None`: to the end of the trace.
    pub window: Option<Duration>,
    /// Put in front of each prompt where the server outlives the run.
    pub salt: Option<String>,
    pub bundle: &'o Path,
}

impl AbBench {
    pub fn new(options: AbOptions) -> Self {
        Self { options, trace: None, served: None }
    }

    /// Name of the experiment, in runs.
    pub fn experiment(&self) -> String {
        let begun = &self.options.begun;
        let nonce = begun.nonce.as_ref().map_or(String::new(), |nonce| format!("-{nonce}"));
        format!("ab-{}{nonce}", begun.plan.seed)
    }

    fn target(&self, role: Role) -> &Target {
        match role {
            Role::Base => &self.options.base,
            Role::Candidate => &self.options.candidate,
        }
    }

    fn hooks(&self, role: Role) -> Option<&Hooks> {
        self.target(role).server().and_then(|server| server.hooks.as_ref())
    }

    fn device(&self, cell: Cell) -> Option<&str> {
        let devices = &self.options.begun.plan.devices;
        cell.device.and_then(|device| devices.get(usize::from(device))).map(String::as_str)
    }

    /// The salt of a run: none where its server is fresh, since then nothing can be shared.
    fn salt(&self, errand: Errand) -> Option<String> {
        let (role, of) = match errand {
            Errand::WarmUp => (Role::Base, "w".to_owned()),
            Errand::Run(cell) => (cell.role, format!("{:x}{}", cell.pair, &cell.role.name()[..1])),
        };
        let nonce = self.options.begun.nonce.as_ref().filter(|_| self.hooks(role).is_none())?;
        // All of one length, so that prompts are.
        Some(format!("{nonce}{of:0>4}"))
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
    fn make(&mut self, order: &Order<'_>, tell: Tell<'_>) -> Result<RunEvidence, Error> {
        self.go_on()?;
        let trace = self.trace(order.warm_up)?;
        match self.target(order.role) {
            Target::Simulated(target) => self.simulate(target, &trace, order)?,
            Target::Server(_) => {
                let Some(served) = self.served.as_mut() else { return Err(Error::NotStarted) };
                served.wait_until_ready(&self.options.stop)?;
                Measured { served, offer: &self.options.offer, stop: &self.options.stop }.run(&trace, order, tell)?;
            }
        }
        complete_run(order.bundle)
    }

    /// Whether nobody has told it to end.
    fn go_on(&self) -> Result<(), Error> {
        self.options.stop.reason().map_or(Ok(()), |reason| Err(Error::Interrupted { reason }))
    }

    fn simulate(&self, target: &SimulatedTarget, trace: &Trace, order: &Order<'_>) -> Result<(), Error> {
        let other = match order.role {
            Role::Base => &self.options.candidate,
            Role::Candidate => &self.options.base,
        };
        let offer = &self.options.offer;
        let mut options = SimulateOptions::new(order.seed, order.name.as_str());
        options.warm_up = order.warm_up;
        options.slo = offer.slo;
        options.scrape_interval = Seconds(offer.scrape_interval.as_secs_f64());
        let end = order.window.map(|window| order.warm_up.0 + window.as_secs_f64());
        options.window_end = end.map(Moment::from_seconds);
        options.artefacts = Artefacts { steps: false, ..Artefacts::ALL };
        let scenario = target.against(other.simulated(), trace).map_err(SimError::from)?;
        let mut simulated = simulated::record(&scenario, trace, &options)?;
        let info = &mut simulated.recording.info;
        (info.place, info.load) = (order.place.clone(), offer.load);
        simulated::write(order.bundle, &simulated)
    }

    /// What the pairs so far say.
    fn pairs(&self, runs: &Runs) -> Comparison {
        let mut comparison = Comparison::new(self.options.policy.clone());
        for base in &runs.base {
            let pair = |run: &RunEvidence| run.info.place.as_ref().map(|place| place.pair);
            if let Some(candidate) = runs.candidate.iter().find(|candidate| pair(candidate) == pair(base)) {
                comparison.add_pair(base, candidate);
            }
        }
        comparison
    }
}

impl Bench for AbBench {
    fn start(&mut self, errand: Errand) -> Result<Option<Process>, Error> {
        self.go_on()?;
        let (role, device, name) = match errand {
            Errand::WarmUp => (Role::Base, self.options.begun.plan.devices.first().cloned(), "warm-up".to_owned()),
            Errand::Run(cell) => (cell.role, self.device(cell).map(ToOwned::to_owned), cell_folder(cell)),
        };
        let Some(server) = self.target(role).server() else { return Ok(None) };
        let log: PathBuf = self.options.out.join(LOGS).join(format!("{name}.log"));
        let served = Served::start(server.on(device.as_deref())?, role.name(), device.as_deref(), &log)?;
        let process = served.process();
        self.served = Some(served);
        Ok(process)
    }

    fn warm_up(&mut self, bundle: &Path, tell: Tell<'_>) -> Result<Seconds, Error> {
        let cold = self.hooks(Role::Base).is_some() || self.options.base.simulated().is_some();
        let order = Order {
            role: Role::Base,
            name: format!("{}-warm-up", self.experiment()),
            seed: self.options.begun.plan.seed,
            place: None,
            warm_up: Seconds(0.0),
            window: Some(Duration::from_secs_f64(warm_up::LEAST_S)),
            salt: self.salt(Errand::WarmUp),
            bundle,
        };
        let run = self.make(&order, tell)?;
        warm_up::learn(&run, cold).ok_or(Error::NothingAnswered { requests: run.requests.len() })
    }

    fn run(&mut self, cell: Cell, warm_up: Seconds, bundle: &Path, tell: Tell<'_>) -> Result<RunEvidence, Error> {
        let experiment = self.experiment();
        let order = Order {
            role: cell.role,
            name: simulated::run_name(&experiment, cell),
            seed: cell.seed,
            place: Some(simulated::place(&experiment, cell, &self.options.begun.plan)),
            warm_up,
            window: self.options.offer.window,
            salt: self.salt(Errand::Run(cell)),
            bundle,
        };
        self.make(&order, tell)
    }

    fn stop(&mut self, standing: Standing) -> Result<(), Error> {
        if let Some(served) = self.served.take() {
            return served.stop();
        }
        let role = match standing.errand {
            Errand::WarmUp => Role::Base,
            Errand::Run(cell) => cell.role,
        };
        if let (Some(process), Some(hooks)) = (standing.process, self.hooks(role)) {
            end_abandoned(process, hooks);
        }
        Ok(())
    }

    fn look(&mut self, _: u32, runs: &Runs) -> Result<(Verdict, bool), Error> {
        let SoFar { decided, .. } = self.pairs(runs).so_far();
        Ok((decided.unwrap_or(Verdict::Inconclusive), decided.is_some()))
    }

    fn so_far(&mut self, runs: &Runs) -> Option<RatioSoFar> {
        RatioSoFar::of(&self.pairs(runs).finish())
    }
}
