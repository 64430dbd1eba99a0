//! What the steps of an experiment are taken on: real deployments and simulated ones, each an arm of the experiment.

mod measured;
mod offer;
mod reach;

use crate::{
    drive::{Deployments, Tell, complete_run},
    error::Error,
    ledger::{Begun, Process, Standing},
    plan::{Cell, Errand, warm_up},
    simulated,
    target::{Hooks, Served, SimulatedTarget, Target, end_abandoned},
};
use firstcheck_load::Stop;
use firstcheck_model::{
    evidence::RunEvidence,
    moment::Moment,
    run::{PairPlace, Role},
    unit::Seconds,
};
use firstcheck_sim::{SimError, SimulateOptions, simulate::Artefacts};
use firstcheck_workload::trace::Trace;
use measured::Measured;
pub use offer::{Offer, TraceError};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Folder of the logs of servers that were started.
const LOGS: &str = "logs";

/// The deployments of an experiment, and what they are offered.
pub(crate) struct Rig {
    /// The verb that makes the experiment: its runs are named after it.
    pub verb: &'static str,
    pub begun: Begun,
    /// Base first.
    pub arms: Vec<Target>,
    pub offer: Offer,
    pub out: PathBuf,
    pub stop: Stop,
    traces: Vec<(Seconds, Arc<Trace>)>,
    served: Option<Served>,
    /// Whether all that is not started here was seen to answer.
    reached: bool,
}

/// One run to be made.
struct Order<'o> {
    arm: usize,
    name: String,
    trace: Arc<Trace>,
    seed: u64,
    place: Option<PairPlace>,
    load: Option<f64>,
    warm_up: Seconds,
    /// Length of the window; `None`: to the end of the trace.
    window: Option<Duration>,
    /// Put in front of each prompt where the server outlives the run.
    salt: Option<String>,
    bundle: &'o Path,
}

impl Order<'_> {
    /// Which side it is of, for progress.
    fn role(&self) -> Role {
        if self.arm == 0 { Role::Base } else { Role::Candidate }
    }
}

impl Rig {
    pub fn new(
        verb: &'static str,
        begun: Begun,
        arms: Vec<Target>,
        offer: Offer,
        (out, stop): (PathBuf, Stop),
    ) -> Self {
        Self { verb, begun, arms, offer, out, stop, traces: Vec::new(), served: None, reached: false }
    }

    /// Name of the experiment, in runs.
    pub fn experiment(&self) -> String {
        let begun = &self.begun;
        let nonce = begun.nonce.as_ref().map_or(String::new(), |nonce| format!("-{nonce}"));
        format!("{}-{}{nonce}", self.verb, begun.plan.seed)
    }

    fn target(&self, arm: usize) -> Result<&Target, Error> {
        self.arms.get(arm).ok_or(Error::NotStarted)
    }

    fn hooks(&self, arm: usize) -> Option<&Hooks> {
        self.arms.get(arm)?.server()?.hooks.as_ref()
    }

    fn device(&self, cell: Cell) -> Option<&str> {
        let devices = &self.begun.plan.devices;
        cell.device.and_then(|device| devices.get(usize::from(device))).map(String::as_str)
    }

    /// The salt of a run: none where its server is fresh, since then nothing can be shared.
    fn salt(&self, errand: Errand) -> Option<String> {
        let (arm, of) = match errand {
            Errand::WarmUp => (0, "w".to_owned()),
            Errand::Run(cell) => {
                let arm = cell.arm.map_or_else(|| cell.role.name()[..1].to_owned(), |arm| format!("{arm:x}"));
                (cell.index(), format!("{:x}{arm}", cell.pair))
            }
        };
        let nonce = self.begun.nonce.as_ref().filter(|_| self.hooks(arm).is_none())?;
        // All of one length, so that prompts are.
        Some(format!("{nonce}{of:0>4}"))
    }

    /// The trace that covers this warm-up: made once, the same for all runs.
    fn trace(&mut self, warm_up: Seconds) -> Result<Arc<Trace>, Error> {
        if let Some((_, trace)) = self.traces.iter().find(|(length, _)| *length == warm_up) {
            return Ok(Arc::clone(trace));
        }
        let trace = Arc::new((self.offer.trace)(warm_up).map_err(Error::Trace)?);
        self.traces.push((warm_up, Arc::clone(&trace)));
        Ok(trace)
    }

    /// Makes a run and reads it back: what is judged is what a later reader of the bundle finds.
    fn make(&mut self, order: &Order<'_>, tell: Tell<'_>) -> Result<RunEvidence, Error> {
        self.go_on()?;
        match self.target(order.arm)? {
            Target::Simulated(target) => self.simulate(target, order)?,
            Target::Server(_) => {
                let Some(served) = self.served.as_mut() else { return Err(Error::NotStarted) };
                served.wait_until_ready(&self.stop)?;
                Measured { served, offer: &self.offer, stop: &self.stop }.run(order, tell)?;
            }
        }
        complete_run(order.bundle)
    }

    /// Whether nobody has told it to end.
    fn go_on(&self) -> Result<(), Error> {
        self.stop.reason().map_or(Ok(()), |reason| Err(Error::Interrupted { reason }))
    }

    fn simulate(&self, target: &SimulatedTarget, order: &Order<'_>) -> Result<(), Error> {
        let all: Vec<&SimulatedTarget> = self.arms.iter().filter_map(Target::simulated).collect();
        let mut options = SimulateOptions::new(order.seed, order.name.as_str());
        options.warm_up = order.warm_up;
        options.slo = self.offer.slo;
        options.scrape_interval = Seconds(self.offer.scrape_interval.as_secs_f64());
        let end = order.window.map(|window| order.warm_up.0 + window.as_secs_f64());
        options.window_end = end.map(Moment::from_seconds);
        options.artefacts = Artefacts { steps: false, ..Artefacts::ALL };
        let scenario = target.against(&all, &order.trace).map_err(SimError::from)?;
        let mut simulated = simulated::record(&scenario, &order.trace, &options)?;
        let info = &mut simulated.recording.info;
        (info.place, info.load) = (order.place.clone(), order.load);
        simulated::write(order.bundle, &simulated)
    }

    /// Runs a cell on a trace of its own, under a condition by name.
    pub fn run_on(
        &mut self,
        (trace, condition): (Arc<Trace>, Option<String>),
        cell: Cell,
        warm_up: Seconds,
        bundle: &Path,
        tell: Tell<'_>,
    ) -> Result<RunEvidence, Error> {
        let experiment = self.experiment();
        let order = Order {
            arm: cell.index(),
            name: simulated::run_name(&experiment, cell, &self.begun.plan),
            trace,
            seed: cell.seed,
            place: Some(PairPlace { cell: condition, ..simulated::place(&experiment, cell, &self.begun.plan) }),
            load: self.offer.load,
            warm_up,
            window: self.offer.window,
            salt: self.salt(Errand::Run(cell)),
            bundle,
        };
        self.make(&order, tell)
    }
}

impl Deployments for Rig {
    fn start(&mut self, errand: Errand) -> Result<Option<Process>, Error> {
        self.go_on()?;
        // Before the first step that costs anything, and not where an earlier beginning has left no step to take.
        if !self.reached {
            reach::all_answer(&self.arms, &self.begun.plan)?;
            self.reached = true;
        }
        let plan = &self.begun.plan;
        let (arm, device, folder, name) = match errand {
            Errand::WarmUp => (0, plan.devices.first().cloned(), "warm-up".to_owned(), Role::Base.name().to_owned()),
            Errand::Run(cell) => {
                let device = self.device(cell).map(ToOwned::to_owned);
                (cell.index(), device, plan.folder(&cell), plan.name_of(&cell).to_owned())
            }
        };
        let Some(server) = self.target(arm)?.server() else { return Ok(None) };
        let log: PathBuf = self.out.join(LOGS).join(format!("{folder}.log"));
        let served = Served::start(server.on(device.as_deref())?, &name, device.as_deref(), &log)?;
        let process = served.process();
        self.served = Some(served);
        Ok(process)
    }

    fn warm_up(&mut self, bundle: &Path, tell: Tell<'_>) -> Result<Seconds, Error> {
        let cold = self.hooks(0).is_some() || self.target(0)?.simulated().is_some();
        let order = Order {
            arm: 0,
            name: format!("{}-warm-up", self.experiment()),
            trace: self.trace(Seconds(0.0))?,
            seed: self.begun.plan.seed,
            place: None,
            load: self.offer.load,
            warm_up: Seconds(0.0),
            window: Some(Duration::from_secs_f64(warm_up::LEAST_S)),
            salt: self.salt(Errand::WarmUp),
            bundle,
        };
        let run = self.make(&order, tell)?;
        warm_up::learn(&run, cold).ok_or(Error::NothingAnswered { requests: run.requests.len() })
    }

    fn run(&mut self, cell: Cell, warm_up: Seconds, bundle: &Path, tell: Tell<'_>) -> Result<RunEvidence, Error> {
        let trace = self.trace(warm_up)?;
        self.run_on((trace, None), cell, warm_up, bundle, tell)
    }

    fn stop(&mut self, standing: Standing) -> Result<(), Error> {
        if let Some(served) = self.served.take() {
            return served.stop();
        }
        let arm = match standing.errand {
            Errand::WarmUp => 0,
            Errand::Run(cell) => cell.index(),
        };
        if let (Some(process), Some(hooks)) = (standing.process, self.hooks(arm)) {
            end_abandoned(process, hooks);
        }
        Ok(())
    }
}
