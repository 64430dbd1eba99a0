//! Every fault beside the healthy run of its scene.

use super::{Dose, Floor, Load, Played, Said, Stage, floor};
use crate::error::Error;
use firstcheck_model::finding::Finding;
use firstcheck_sim::fault::{FaultSpec, Severity};

/// Traffic of the base, and of every run that replays it.
const TRAFFIC: u64 = 1 << 32;
/// Between the seeds of a base and of the runs held against it.
const OTHER: u64 = 1 << 16;

/// Runs that share a healthy one: the faults of one scene under one load with one seed.
#[derive(Debug, Clone)]
pub struct Group {
    /// The load.
    pub load: Load,
    /// The seed.
    pub seed: u64,
    /// The faults.
    pub faults: Vec<&'static FaultSpec>,
}

/// The groups of `faults` under all of `loads`, each for the seeds `1..=seeds`.
pub fn groups(faults: &[&'static FaultSpec], loads: &[Load], seeds: u64) -> Vec<Group> {
    let mut scenes: Vec<Vec<&'static FaultSpec>> = Vec::new();
    for fault in faults {
        match scenes.iter_mut().find(|scene| scene.first().is_some_and(|first| first.scene == fault.scene)) {
            Some(scene) => scene.push(fault),
            None => scenes.push(vec![fault]),
        }
    }
    let mut groups = Vec::new();
    for (load, faults) in loads.iter().flat_map(|load| scenes.iter().map(move |faults| (load, faults))) {
        groups.extend((1..=seeds).map(|seed| Group { load: *load, seed, faults: faults.clone() }));
    }
    groups
}

/// What all checks said of one run.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The fault; `None`: the run was healthy.
    pub fault: Option<&'static FaultSpec>,
    /// The scene.
    pub scene: &'static str,
    /// The fault with its values, or what else was played.
    pub text: String,
    /// The load.
    pub load: &'static str,
    /// The seed.
    pub seed: u64,
    /// The floor's metric without and with the fault.
    pub metric: Option<(f64, f64)>,
    /// Whether the fault is above its floor; `None` where no floor is stated or its metric is missing.
    pub above: Option<bool>,
    /// What each check said, and whether its symptom is there by that symptom's own floor.
    pub said: Vec<(Said, bool)>,
}

impl Group {
    /// Plays the group: the healthy run, two more healthy ones against it (the same traffic again, and other traffic of
    /// the kind), and every fault at each of `severities`. `tell` is called with each run as it is judged.
    ///
    /// # Errors
    /// What [`Stage::play`] fails with.
    pub fn play(
        &self,
        stage: &Stage,
        severities: &[Severity],
        dose: Dose,
        tell: &(dyn Fn(&Judged) + Sync),
    ) -> Result<Vec<Judged>, Error> {
        let Some(first) = self.faults.first() else { return Ok(Vec::new()) };
        let calm = dose.fault(first, Severity::Mild, self.seed);
        let traffic = TRAFFIC + self.seed;
        let healthy = stage.play(&self.load, &calm, false, traffic, self.seed)?;
        let mut all = Vec::new();
        for (text, traffic) in [("the same traffic", traffic), ("other traffic", traffic + OTHER)] {
            let run = stage.play(&self.load, &calm, false, traffic, self.seed + OTHER)?;
            let said = said(stage.findings(&run, &healthy), &healthy, &run);
            all.push(Judged { said, text: text.into(), ..self.judged(first) });
            all.last().into_iter().for_each(tell);
        }
        for (spec, severity) in self.faults.iter().flat_map(|spec| severities.iter().map(move |s| (*spec, *s))) {
            let fault = dose.fault(spec, severity, self.seed);
            let run = stage.play(&self.load, &fault, true, traffic, self.seed + OTHER)?;
            let floor = Floor::of(spec);
            all.push(Judged {
                fault: Some(spec),
                text: fault.to_string(),
                metric: floor.and_then(|floor| floor.measure(&healthy, &healthy).zip(floor.measure(&run, &healthy))),
                above: floor.and_then(|floor| floor.is_reached(&healthy, &run)),
                said: said(stage.findings(&run, &healthy), &healthy, &run),
                ..self.judged(spec)
            });
            all.last().into_iter().for_each(tell);
        }
        Ok(all)
    }

    /// A run of the group of which nothing is said yet.
    fn judged(&self, spec: &FaultSpec) -> Judged {
        Judged {
            fault: None,
            scene: spec.scene.slug,
            text: String::new(),
            load: self.load.name,
            seed: self.seed,
            metric: None,
            above: None,
            said: Vec::new(),
        }
    }
}

fn said(mut findings: Vec<Finding>, healthy: &Played, run: &Played) -> Vec<(Said, bool)> {
    findings.sort_by(|a, b| a.code.cmp(&b.code));
    findings.iter().map(|finding| (Said::of(finding), floor::is_there(&finding.code, healthy, run))).collect()
}

impl Judged {
    /// What the fault's own check said.
    pub fn own(&self) -> Option<&Said> {
        Some(&self.of_own()?.0)
    }

    /// The same, and whether the symptom is there by any of its floors.
    fn of_own(&self) -> Option<&(Said, bool)> {
        let symptom = self.fault?.symptom;
        self.said.iter().find(|(said, _)| said.code == symptom)
    }

    /// Whether the fault is below its floor and was found all the same: its symptom by none of the floors that are stated
    /// for it, or its cause.
    pub fn is_found_below(&self) -> bool {
        let (Some(fault), Some((own, there)), Some(false)) = (self.fault, self.of_own(), self.above) else {
            return false;
        };
        own.is_present() && (!there || own.names(fault.cause))
    }

    /// What other checks found, with whether their symptom is there by its own floor; consequences of another finding are
    /// not among them.
    pub fn others(&self) -> impl Iterator<Item = &(Said, bool)> {
        let symptom = self.fault.map(|fault| fault.symptom);
        self.said.iter().filter(move |(said, _)| {
            said.is_present() && said.consequence_of.is_none() && symptom != Some(said.code.as_str())
        })
    }

    /// What was found as a consequence of another finding.
    pub fn consequences(&self) -> impl Iterator<Item = &Said> {
        let symptom = self.fault.map(|fault| fault.symptom);
        let all = self.said.iter().map(|(said, _)| said);
        all.filter(move |said| said.consequence_of.is_some() && symptom != Some(said.code.as_str()))
    }

    /// Whether all is as it should be: above the floor found with its cause, below it absent or undecided, and nothing
    /// found that is not there.
    pub fn is_right(&self) -> bool {
        let own = match (self.fault, self.own(), self.above) {
            (Some(fault), Some(own), Some(true)) => own.names(fault.cause),
            (Some(_), Some(_), Some(false)) => !self.is_found_below(),
            _ => true,
        };
        own && !self.others().any(|(_, there)| !there)
    }
}
