//! A fault as it is played and read.

use super::load::{LENGTH_S, Load, WARM_UP_S};
use crate::{error::Error, simulated};
use firstcheck_analyze::{
    compare::Policy,
    examine::{examine, examine_against},
    settings::Settings,
};
use firstcheck_ingest::{Input, Limits, collect};
use firstcheck_model::{evidence::Evidence, finding::Finding, moment::Moment, unit::Seconds};
use firstcheck_sim::{EngineKind, SimError, SimulateOptions, Simulated, fault, fault::Fault, simulate::Artefacts};
use std::path::{Path, PathBuf};

/// What a faulty run is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// The healthy run of the same scene.
    Healthy,
    /// Nothing.
    Nothing,
    /// Itself: the fault begins in the middle of the run, and the checks have to find the onset.
    Onset,
}

/// Where runs are played.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The engine.
    pub engine: EngineKind,
    /// What a faulty run is held against.
    pub against: Against,
    /// A folder for bundles; each is removed once it is read.
    pub folder: PathBuf,
}

/// A run as it was and as it is read.
#[derive(Debug)]
pub struct Played {
    /// What really happened.
    pub simulated: Simulated,
    /// What its bundle says.
    pub evidence: Evidence,
}

impl Stage {
    /// Plays one load: `traffic` seeds what is asked, `seed` everything else, and `acting` acts in the scene of `fault`.
    ///
    /// # Errors
    /// A deployment that the simulator refuses, or a folder that cannot be written.
    pub fn play(&self, load: &Load, fault: &Fault, acting: bool, traffic: u64, seed: u64) -> Result<Played, Error> {
        let (deployment, trace) = (load.deployment(self.engine), load.trace(traffic)?);
        let mut fault = fault.clone();
        if self.against == Against::Onset {
            fault.start_ns = (LENGTH_S * 0.5e9) as i64;
        }
        let set_up = if acting { fault::scenario } else { fault::healthy };
        let scenario = set_up(&deployment, &trace, &[fault]).map_err(SimError::from)?;
        let options = SimulateOptions {
            warm_up: Seconds(WARM_UP_S),
            window_end: Some(Moment::from_seconds(LENGTH_S)),
            artefacts: Artefacts { steps: false, ..Artefacts::ALL },
            ..SimulateOptions::new(seed, format!("run-{seed}"))
        };
        let simulated = simulated::record(&scenario, &trace, &options)?;
        let evidence = self.read(&simulated)?;
        Ok(Played { simulated, evidence })
    }

    /// What a bundle says, read as any other.
    fn read(&self, simulated: &Simulated) -> Result<Evidence, Error> {
        let thread = format!("{:?}", std::thread::current().id());
        let number: String = thread.chars().filter(char::is_ascii_digit).collect();
        let bundle = self.folder.join(format!("run-{number}"));
        simulated::write(&bundle, simulated)?;
        let read = collect(vec![Input::Path(bundle.clone())], &Limits::default());
        removed(&bundle)?;
        Ok(read.evidence)
    }

    /// What the checks find in a run, as `diagnose` asks them.
    pub fn findings(&self, run: &Played, healthy: &Played) -> Vec<Finding> {
        let settings = Settings::default();
        let report = match self.against {
            Against::Healthy => examine_against(&run.evidence, &healthy.evidence, &Policy::default(), &settings),
            Against::Nothing | Against::Onset => examine(&run.evidence, &Policy::default(), &settings),
        };
        report.findings
    }
}

fn removed(bundle: &Path) -> Result<(), Error> {
    std::fs::remove_dir_all(bundle).map_err(|source| Error::File { action: "remove", path: bundle.into(), source })
}
