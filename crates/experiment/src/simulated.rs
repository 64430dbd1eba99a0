//! Simulated deployments: runs of them in virtual time.

use crate::{
    error::Error,
    plan::{Cell, Plan},
};
use firstcheck_bundle::{Rows, Writer};
use firstcheck_ingest::vocabulary;
use firstcheck_model::{request::Request, run::PairPlace};
use firstcheck_sim::{Scenario, SimulateOptions, Simulated, simulate_scenario};
use firstcheck_workload::trace::Trace;
use std::path::Path;

/// Runs `trace` on `scenario`; its series are named as a measured run's are.
///
/// # Errors
/// A deployment that would not start, or a trace or options that cannot be played.
pub fn record(scenario: &Scenario, trace: &Trace, options: &SimulateOptions) -> Result<Simulated, Error> {
    let mut simulated = simulate_scenario(scenario, trace, options)?;
    vocabulary::apply(&mut simulated.recording.signals);
    Ok(simulated)
}

/// Writes the bundle of a simulated run, with the files that its servers leave.
///
/// # Errors
/// A folder that is not empty, or cannot be written.
pub fn write(bundle: &Path, simulated: &Simulated) -> Result<(), Error> {
    let recording = &simulated.recording;
    let mut writer = Writer::create(bundle, &recording.info)?;
    let requests: Vec<(u32, Request)> = (0..).zip(recording.requests.0.iter().cloned()).collect();
    writer.append(Rows {
        requests: &requests,
        events: &recording.events,
        signals: &recording.signals,
        spans: &recording.spans,
        ..Rows::default()
    })?;
    for attachment in &simulated.attachments {
        writer.attach(&attachment.name, attachment.content.as_slice())?;
    }
    writer.finish(recording.info.clone())?;
    Ok(())
}

/// Where a cell's run stands in its experiment.
pub fn place(experiment: &str, cell: Cell, plan: &Plan) -> PairPlace {
    PairPlace {
        experiment: experiment.into(),
        pair: cell.pair,
        role: cell.role,
        order: cell.order,
        device: cell.device.and_then(|device| plan.devices.get(usize::from(device)).cloned()),
        cell: None,
        // Looks of a plan without a comparison spend no error.
        looks: if plan.arms.len() == 1 { Vec::new() } else { plan.looks.clone() },
    }
}

/// A run's identity within its experiment: `demo-7-pair-03-candidate`.
pub fn run_name(experiment: &str, cell: Cell, plan: &Plan) -> String {
    format!("{experiment}-{}", plan.folder(&cell))
}
