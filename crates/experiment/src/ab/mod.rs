//! Two deployments measured in interleaved pairs, and judged.

mod bench;
mod forecast;
mod section;

use crate::{
    calibration::{self, Calibration},
    drive::{Driven, Runs, drive},
    error::Error,
    event::Event,
    ledger::Begun,
    plan::Why,
    rig::{Offer, Rig},
    target::Target,
};
pub(crate) use bench::AbBench;
use firstcheck_analyze::{compare::Policy, judge::judge, settings::Settings};
use firstcheck_ingest::{Input, Limits, collect};
use firstcheck_load::Stop;
use firstcheck_model::{
    evidence::{Evidence, RunEvidence},
    report::{Report, Verdict},
};
pub use forecast::{ASSUMED_S_D, Forecast, GateForecast, START_S, forecast};
pub use section::{AbSection, SideSection};
use std::path::{Path, PathBuf};

/// What is compared with what, how, and where it goes.
pub struct AbOptions {
    /// The experiment: its plan and what tells it from another.
    pub begun: Begun,
    /// What is known to be good.
    pub base: Target,
    /// What is in question.
    pub candidate: Target,
    /// What both are offered.
    pub offer: Offer,
    /// What is gated.
    pub policy: Policy,
    /// Parameters of checks.
    pub settings: Settings,
    /// Folder of the ledger and the bundles.
    pub out: PathBuf,
    /// Ends it early.
    pub stop: Stop,
}

/// How it ended.
#[derive(Debug, Clone)]
pub struct AbOutcome {
    /// The comparison of all pairs that there are.
    pub report: Report,
    /// Their bundles.
    pub bundles: Vec<PathBuf>,
    /// Why it ended; `Err`: why it was interrupted.
    pub end: Result<Why, String>,
    /// What base against itself has shown, where that was asked and enough pairs were run.
    pub calibration: Option<Calibration>,
    /// The mix of requests that both were offered; `None` where no run was made.
    pub mix: Option<String>,
}

/// Measures both sides in pairs until the plan is fulfilled or a look decides, and judges them. In a folder with a ledger
/// of the same experiment it goes on where that ended.
///
/// # Errors
/// A plan that does not balance, a deployment that cannot be started, a folder that cannot be written.
pub fn ab(options: AbOptions, tell: &mut dyn FnMut(Event)) -> Result<AbOutcome, Error> {
    options.begun.plan.check()?;
    let one_server = options.base.server().zip(options.candidate.server()).is_some_and(|(b, c)| b.is_one_with(c));
    let AbOptions { begun, base, candidate, offer, policy, settings, out, stop } = options;
    let rig = Rig::new("ab", begun.clone(), vec![base, candidate], offer, (out.clone(), stop));
    let mut bench = AbBench { rig, policy, runs: Runs::default() };
    let Driven { bundles, end, .. } = drive(begun.clone(), &out, &mut bench, tell)?;
    // Base against itself keeps what its pairs showed.
    let effects = if begun.plan.same_sides { bench.pairs().effects() } else { Vec::new() };
    let (base, candidate) = (side(bench.runs.take(0)), side(bench.runs.take(1)));
    let pairs = base.runs.len().min(candidate.runs.len());
    let mix = base.runs.first().map(|run| calibration::mix(&run.info.workload.description));
    let name = bench.rig.experiment();
    let mut report = judge(&base, &candidate, &bench.policy, &settings);
    report.verb = "ab".into();
    report.seed = Some(begun.plan.seed);
    if one_server && !begun.plan.same_sides {
        report
            .notes
            .push("base and candidate are one server: what is compared is it with itself (--aa says so)".into());
    }
    match &end {
        Ok(Why::AllPairs) => report.notes.push(format!("all {pairs} planned pairs were run")),
        Ok(Why::Look { pairs }) => {
            report.notes.push(format!("the look after {pairs} of {} pairs decided", begun.plan.pairs));
        }
        Err(reason) => interrupted(&mut report, reason, pairs, begun.plan.pairs),
    }
    let fitted = forecast::covariates(&begun.plan);
    let calibrates = mix.as_deref().filter(|_| begun.plan.same_sides && end.is_ok());
    let calibration = calibrates.and_then(|mix| Calibration::of(&report, &effects, &name, mix, fitted));
    if calibrates.is_some() && calibration.is_none() {
        report.notes.push(format!(
            "nothing was calibrated: that takes {} pairs, and {pairs} were run",
            calibration::LEAST_PAIRS
        ));
    }
    Ok(AbOutcome { report, bundles, end, calibration, mix })
}

/// One side: its runs, with the logs that were saved beside each of them, which are those of its server.
pub fn side(runs: Vec<RunEvidence>) -> Evidence {
    let attached = runs.iter().map(|run| Path::new(&run.label).join("attached")).filter(|path| path.is_dir());
    let logs = attached.flat_map(|path| collect(vec![Input::Path(path)], &Limits::default()).evidence.logs).collect();
    Evidence { logs, ..Evidence::of(runs) }
}

/// What was interrupted decides nothing: how many pairs there are was not chosen by the plan.
fn interrupted(report: &mut Report, reason: &str, pairs: usize, planned: u32) {
    if report.verdict != Verdict::NotComparable {
        report.verdict = Verdict::Inconclusive;
    }
    let why = format!("interrupted after {pairs} of {planned} pairs: {reason}; the same command goes on from there");
    report.why.insert(0, why);
}
