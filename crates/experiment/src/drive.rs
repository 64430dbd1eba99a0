//! Does what a plan says: takes its steps on a bench, keeps the ledger, tells progress.

use crate::{
    error::Error,
    event::{Event, RatioSoFar},
    ledger::{Begun, Entry, LedgerFile, Process, Standing},
    plan::{Cell, Errand, Plan, Step, WarmUp, Why},
};
use firstcheck_model::{evidence::RunEvidence, report::Verdict, run::RunState, unit::Seconds};
use std::path::{Path, PathBuf};

/// Name of the ledger in an experiment's folder.
pub const LEDGER: &str = "ledger.jsonl";
/// Folder of the run that shows how long to warm up.
pub const WARM_UP_FOLDER: &str = "warm-up";

/// Who hears of the progress.
pub type Tell<'t> = &'t mut dyn FnMut(Event);

/// What runs are made on: real deployments, or simulated ones.
pub trait Deployments {
    /// Starts the deployment that `errand` is about, or sees that it is there. It need not be ready yet.
    ///
    /// # Errors
    /// It cannot be started.
    fn start(&mut self, errand: Errand) -> Result<Option<Process>, Error> {
        let _ = errand;
        Ok(None)
    }

    /// Learns from base how long a run warms up, with a run that goes to `bundle`.
    ///
    /// # Errors
    /// The run could not be made, or shows nothing.
    fn warm_up(&mut self, bundle: &Path, tell: Tell<'_>) -> Result<Seconds, Error>;

    /// Runs a cell after that warm-up, on the trace that all runs replay; its bundle goes to `bundle`.
    ///
    /// # Errors
    /// The run could not be made, or did not end as planned.
    fn run(&mut self, cell: Cell, warm_up: Seconds, bundle: &Path, tell: Tell<'_>) -> Result<RunEvidence, Error>;

    /// Stops what was started, or what an interruption has left of it.
    ///
    /// # Errors
    /// It cannot be stopped.
    fn stop(&mut self, standing: Standing) -> Result<(), Error> {
        let _ = standing;
        Ok(())
    }
}

/// What the steps of a plan are taken on, and what reads the runs as they come.
pub trait Bench {
    /// What its runs are made on.
    fn deployments(&mut self) -> &mut dyn Deployments;

    /// Runs a cell after that warm-up; its bundle goes to `bundle`. A bench whose runs differ by more than their
    /// deployment says here how.
    ///
    /// # Errors
    /// As [`Deployments::run`].
    fn run(&mut self, cell: Cell, warm_up: Seconds, bundle: &Path, tell: Tell<'_>) -> Result<RunEvidence, Error> {
        self.deployments().run(cell, warm_up, bundle, tell)
    }

    /// Takes a run that is complete: made now, or read back from an earlier beginning of the experiment. What is kept of
    /// it is the bench's business.
    fn keep(&mut self, cell: Cell, run: RunEvidence);

    /// What the pairs kept so far say, and whether that ends the experiment.
    ///
    /// # Errors
    /// They cannot be judged.
    fn look(&mut self, pairs: u32) -> Result<(Verdict, bool), Error>;

    /// What progress shows after each pair.
    fn so_far(&mut self) -> Option<RatioSoFar>;
}

/// Complete runs by arm and, within an arm, by pair.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    arms: Vec<Vec<RunEvidence>>,
}

impl Runs {
    /// Adds a run. One that had to be made again comes later than those of later pairs, and stands in its place.
    pub fn add(&mut self, cell: Cell, run: RunEvidence) {
        let arm = cell.index();
        if self.arms.len() <= arm {
            self.arms.resize_with(arm + 1, Vec::new);
        }
        let pair = |run: &RunEvidence| run.info.place.as_ref().map(|place| place.pair);
        let runs = &mut self.arms[arm];
        runs.insert(runs.partition_point(|before| pair(before) < pair(&run)), run);
    }

    /// The runs of an arm; base is 0, the candidate 1.
    pub fn of(&self, arm: usize) -> &[RunEvidence] {
        self.arms.get(arm).map_or(&[], Vec::as_slice)
    }

    /// Takes the runs of an arm out.
    pub fn take(&mut self, arm: usize) -> Vec<RunEvidence> {
        self.arms.get_mut(arm).map(std::mem::take).unwrap_or_default()
    }
}

/// How an experiment ended.
#[derive(Debug, Clone)]
pub struct Driven {
    /// The bundles of its runs.
    pub bundles: Vec<PathBuf>,
    /// Why it ended; `Err`: why it was interrupted.
    pub end: Result<Why, String>,
    /// How long each run warmed up.
    pub warm_up: Seconds,
}

/// Drives the plan of `begun` in `folder` until nothing is left to do or it is interrupted. What the ledger there says was
/// done is read back instead of being done again.
///
/// # Errors
/// What the bench, a bundle or the ledger reports. What was started has been stopped by then.
pub fn drive(begun: Begun, folder: &Path, bench: &mut dyn Bench, tell: &mut dyn FnMut(Event)) -> Result<Driven, Error> {
    let fail = |source| Error::File { action: "create", path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(fail)?;
    let plan = begun.plan.clone();
    let ledger = LedgerFile::open(&folder.join(LEDGER), begun)?;
    let kept = vec![0; plan.runs_a_block() as usize];
    let mut driver = Driver { plan, folder, ledger, kept, bundles: Vec::new(), bench, tell };
    driver.read_back()?;
    let end = match driver.go_on() {
        Ok(why) => Ok(why),
        Err(error) => {
            driver.clear_up();
            match error {
                Error::Interrupted { reason } => Err(reason),
                error => return Err(error),
            }
        }
    };
    Ok(Driven { warm_up: driver.warm_up(), bundles: driver.bundles, end })
}

struct Driver<'d> {
    plan: Plan,
    folder: &'d Path,
    ledger: LedgerFile,
    /// Complete runs of each arm.
    kept: Vec<u32>,
    bundles: Vec<PathBuf>,
    bench: &'d mut dyn Bench,
    tell: &'d mut dyn FnMut(Event),
}

impl Driver<'_> {
    /// Reads the runs that the ledger has. One whose bundle is not there whole will be run again.
    fn read_back(&mut self) -> Result<(), Error> {
        for cell in self.plan.cells() {
            let Some(name) = self.ledger.ledger().bundle(&cell).map(ToOwned::to_owned) else { continue };
            let bundle = self.folder.join(&name);
            match complete_run(&bundle) {
                Ok(run) => self.add(cell, bundle, run),
                Err(error) => self.ledger.append(Entry::Lost { cell, why: error.to_string() })?,
            }
        }
        Ok(())
    }

    fn go_on(&mut self) -> Result<Why, Error> {
        loop {
            let entry = match self.plan.next(self.ledger.ledger()) {
                Step::Start(errand) => Entry::Started { errand, process: self.bench.deployments().start(errand)? },
                Step::WarmUp => {
                    let bundle = self.cleared(WARM_UP_FOLDER)?;
                    let warm_up = self.bench.deployments().warm_up(&bundle, self.tell)?;
                    Entry::WarmedUp { warm_up, bundle: WARM_UP_FOLDER.into() }
                }
                Step::Run(cell) => {
                    self.run(cell)?;
                    continue;
                }
                Step::Stop(errand) => {
                    if let Some(standing) = self.ledger.ledger().standing() {
                        self.bench.deployments().stop(standing)?;
                    }
                    Entry::Stopped { errand }
                }
                Step::Look { pairs } => {
                    let (verdict, decides) = self.bench.look(pairs)?;
                    Entry::Looked { pairs, verdict, decides }
                }
                Step::Decided(why) => return Ok(why),
            };
            self.ledger.append(entry)?;
        }
    }

    fn run(&mut self, cell: Cell) -> Result<(), Error> {
        let name = self.plan.folder(&cell);
        let bundle = self.cleared(&name)?;
        let run = self.bench.run(cell, self.warm_up(), &bundle, self.tell)?;
        self.ledger.append(Entry::RunDone { cell, bundle: name })?;
        self.add(cell, bundle, run);
        Ok(())
    }

    fn warm_up(&self) -> Seconds {
        match self.plan.warm_up {
            WarmUp::Fixed(warm_up) => warm_up,
            WarmUp::Learnt => self.ledger.ledger().warm_up().unwrap_or(Seconds(0.0)),
        }
    }

    /// Where a bundle goes. What an interrupted run has left there is of no use: the run is made again.
    fn cleared(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        if path.exists() {
            let fail = |source| Error::File { action: "remove", path: path.clone(), source };
            std::fs::remove_dir_all(&path).map_err(fail)?;
        }
        Ok(path)
    }

    fn add(&mut self, cell: Cell, bundle: PathBuf, run: RunEvidence) {
        let pairs = self.plan.pairs;
        let (name, runs) = (self.plan.name_of(&cell).to_owned(), pairs * self.plan.runs_a_block());
        (self.tell)(Event::RunDone { pair: cell.pair, pairs, name, runs, bundle: bundle.clone() });
        self.bundles.push(bundle);
        self.bench.keep(cell, run);
        if let Some(kept) = self.kept.get_mut(cell.index()) {
            *kept += 1;
        }
        if self.kept.iter().all(|kept| *kept == self.kept[0]) {
            let ratio = self.bench.so_far();
            (self.tell)(Event::PairDone { pair: cell.pair, pairs, ratio });
        }
    }

    /// After a failure or an interruption nothing of ours stays behind.
    fn clear_up(&mut self) {
        let Some(standing) = self.ledger.ledger().standing() else { return };
        if self.bench.deployments().stop(standing).is_ok() {
            // A ledger that cannot be written now is found without this line later, and the step is taken again.
            let _ = self.ledger.append(Entry::Stopped { errand: standing.errand });
        }
    }
}

/// The run of a bundle, however it ended.
///
/// # Errors
/// A bundle that cannot be read or holds no run.
pub(crate) fn read_back(bundle: &Path) -> Result<RunEvidence, Error> {
    firstcheck_ingest::read_runs(bundle)?.pop().ok_or_else(|| no_run(bundle, "the bundle holds no run".into()))
}

/// The run of a bundle that ended as planned.
///
/// # Errors
/// As [`read_back`], and a run that was interrupted.
pub(crate) fn complete_run(bundle: &Path) -> Result<RunEvidence, Error> {
    let run = read_back(bundle)?;
    match &run.info.state {
        RunState::Complete => Ok(run),
        RunState::Interrupted { reason } => Err(no_run(bundle, format!("it was interrupted: {reason}"))),
    }
}

fn no_run(bundle: &Path, reason: String) -> Error {
    Error::File { action: "use the run in", path: bundle.to_owned(), source: std::io::Error::other(reason) }
}
