//! A simulated deployment as a target: one run of it in virtual time.

use crate::{drive::cell_folder, error::Error, plan::pairs::Cell};
use firstcheck_bundle::write_recording;
use firstcheck_ingest::vocabulary;
use firstcheck_model::{evidence::RunEvidence, recording::Recording, run::PairPlace, slo::Slo, unit::Seconds};
use firstcheck_sim::{EngineConfig, SimulateOptions, simulate};
use firstcheck_workload::trace::Trace;
use std::path::Path;

/// What is common to all simulated runs of an experiment.
#[derive(Debug, Clone)]
pub struct SimulatedRuns<'t> {
    /// Name of the experiment.
    pub experiment: &'t str,
    /// What is offered.
    pub trace: &'t Trace,
    /// Warm-up before the window.
    pub warm_up: Seconds,
    /// The SLO in force.
    pub slo: Slo,
}

impl SimulatedRuns<'_> {
    /// Runs `cell` on `engine` in memory.
    ///
    /// # Errors
    /// A configuration that the engine refuses.
    pub fn record(&self, engine: &EngineConfig, cell: Cell) -> Result<Recording, Error> {
        let mut options = SimulateOptions::new(cell.seed, run_name(self.experiment, cell));
        options.warm_up = self.warm_up;
        options.slo = Some(self.slo);
        let mut recording = simulate(engine, self.trace, &options)?;
        vocabulary::apply(&mut recording.signals);
        recording.info.place = Some(PairPlace {
            experiment: self.experiment.into(),
            pair: cell.pair,
            role: cell.role,
            order: cell.order,
            device: None,
            cell: None,
        });
        Ok(recording)
    }

    /// Runs `cell` on `engine` and writes its bundle at `path`.
    ///
    /// # Errors
    /// A configuration that the engine refuses, or a bundle that cannot be written.
    pub fn run(&self, engine: &EngineConfig, cell: Cell, path: &Path) -> Result<RunEvidence, Error> {
        let recording = self.record(engine, cell)?;
        write_recording(path, &recording)?;
        Ok(recording.into_evidence(path.display().to_string()))
    }
}

/// A run's identity within its experiment: `demo-7-pair-03-candidate`.
pub fn run_name(experiment: &str, cell: Cell) -> String {
    format!("{experiment}-{}", cell_folder(cell))
}
