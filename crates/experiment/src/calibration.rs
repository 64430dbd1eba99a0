//! How much a deployment differs from itself: what `ab --aa` has measured, by environment.
//!
//! A calibration holds for one environment: the fingerprint of the deployment and the mix of requests that it was offered.
//! Where any field of the fingerprint has another value now, it is void.

use crate::error::Error;
use firstcheck_analyze::compare::Effect;
use firstcheck_model::{
    fingerprint::Fingerprint,
    metric::Metric,
    report::{Claim, Report, Verdict},
};
use firstcheck_stats::mde;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

/// Version of the file.
pub const SCHEMA: &str = "firstcheck.calibration/1";
/// The file where no other is named.
pub const FILE: &str = "firstcheck.calibration.json";
/// Fewest pairs that calibrate.
pub const LEAST_PAIRS: u32 = 8;

/// All calibrations of a file, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibrations {
    /// [`SCHEMA`].
    pub schema: String,
    /// One an environment.
    pub calibrations: Vec<Calibration>,
}

/// What base against itself has shown in one environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// What the deployment is.
    pub environment: Fingerprint,
    /// The mix of requests that it was offered, as [`mix`] tells it.
    pub mix: String,
    /// Spread of each metric between pairs, from the latest experiment.
    pub noise: Vec<Noise>,
    /// Every experiment of base against itself, and what it claimed.
    pub experiments: Vec<Experiment>,
}

/// How much a metric differs between two runs of one deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// The metric.
    pub metric: Metric,
    /// Its statistic.
    pub stat: String,
    /// Residual standard deviation of the log ratio of a pair.
    pub s_d: f64,
    /// Pairs behind it.
    pub pairs: u64,
    /// Log ratio of each pair, of what is gated: what a single pair of runs is held against.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<f64>,
}

/// One experiment of base against itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// Its pairs.
    pub pairs: u32,
    /// What it said.
    pub verdict: Verdict,
    /// Metrics that it called worse: false alarms all.
    pub alarms: Vec<String>,
}

/// The mix of a workload by its description: without the number of requests, which is drawn as well.
///
/// # Example: two seeds, one mix
/// ```
/// use firstcheck_experiment::calibration::mix;
/// let (one, other) = ("synthetic, 232 requests, poisson:4, input fixed:512", "synthetic, 251 requests, poisson:4, input fixed:512");
/// assert_eq!(mix(one), mix(other));
/// assert_ne!(mix(one), mix("synthetic, 232 requests, poisson:8, input fixed:512"));
/// ```
pub fn mix(description: &str) -> String {
    let counts = |part: &&str| part.starts_with(|c: char| c.is_ascii_digit()) && part.contains(" requests");
    let parts: Vec<&str> = description.split(", ").filter(|part| !counts(part)).collect();
    parts.join(", ")
}

impl Calibration {
    /// What the report of base against itself shows, whose `effects` are these; `covariates` were fitted.
    ///
    /// `None` where it has no base, or too few pairs, so that it calibrates nothing.
    pub fn of(report: &Report, effects: &[Effect], name: &str, mix: &str, covariates: usize) -> Option<Self> {
        let base = report.sides.base.as_ref()?;
        let pairs = report.metrics.iter().map(|row| row.pairs).max()? as u32;
        if pairs < LEAST_PAIRS {
            return None;
        }
        let rows = || report.metrics.iter().filter(|row| row.slice.is_none());
        // The share of good requests is compared as a logit: its spread is on another scale.
        let logs = rows().filter(|row| row.metric != Metric::GoodShare);
        let noise = logs.filter_map(|row| {
            let unit = mde::log_mde(1.0, row.pairs as usize, covariates).ok()?;
            let effect = effects.iter().find(|e| e.metric == row.metric && e.stat.to_string() == row.stat);
            Some(Noise {
                metric: row.metric,
                stat: row.stat.clone(),
                s_d: row.mde?.ln_1p() / unit,
                pairs: row.pairs,
                differences: effect.map_or_else(Vec::new, |effect| effect.differences.clone()),
            })
        });
        let alarms = rows().filter(|row| row.claim == Claim::Regressed);
        Some(Self {
            environment: base.fingerprint.clone(),
            mix: mix.to_owned(),
            noise: noise.collect(),
            experiments: vec![Experiment {
                name: name.to_owned(),
                pairs,
                verdict: report.verdict,
                alarms: alarms.map(|row| format!("{} {}", row.metric, row.stat)).collect(),
            }],
        })
    }

    /// Log ratios of base's pairs with itself, of a metric; empty where they were not kept.
    pub fn differences(&self, metric: Metric, stat: &str) -> &[f64] {
        let noise = self.noise.iter().find(|noise| noise.metric == metric && noise.stat == stat);
        noise.map_or(&[], |noise| &noise.differences)
    }

    /// Spread of a metric, in log points.
    pub fn spread(&self, metric: Metric, stat: &str) -> Option<f64> {
        self.noise.iter().find(|noise| noise.metric == metric && noise.stat == stat).map(|noise| noise.s_d)
    }

    /// How many of its experiments called base worse than itself.
    pub fn false_alarms(&self) -> usize {
        self.experiments.iter().filter(|experiment| experiment.verdict == Verdict::Fail).count()
    }

    /// Why it says nothing of a deployment: fields that have another value now. Empty: it holds.
    pub fn void(&self, now: &Fingerprint) -> Vec<String> {
        let differing = self.environment.differences(now);
        differing
            .map(|(name, then, now)| format!("{name} {} then, {} now", then.stated.value, now.stated.value))
            .collect()
    }
}

impl Calibrations {
    /// Those of a file; none where it is not there.
    ///
    /// # Errors
    /// A file that cannot be read or is of another kind.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let none = || Self { schema: SCHEMA.into(), calibrations: Vec::new() };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(none()),
            Err(source) => return Err(Error::File { action: "read", path: path.to_owned(), source }),
        };
        let found: Self = serde_json::from_str(&text)
            .map_err(|source| Error::Calibration { path: path.to_owned(), why: source.to_string() })?;
        if found.schema != SCHEMA {
            let why = format!("it is {}, and {SCHEMA} is read", found.schema);
            return Err(Error::Calibration { path: path.to_owned(), why });
        }
        Ok(found)
    }

    /// Adds what an experiment has shown: to the calibration of its environment, or as a new one.
    pub fn add(&mut self, new: Calibration) {
        let same = |old: &&mut Calibration| old.mix == new.mix && old.environment == new.environment;
        match self.calibrations.iter_mut().find(same) {
            Some(old) => {
                old.noise = new.noise;
                // An experiment that is reported again is no second one.
                old.experiments.retain(|earlier| new.experiments.iter().all(|now| now.name != earlier.name));
                old.experiments.extend(new.experiments);
            }
            None => self.calibrations.push(new),
        }
    }

    /// The latest calibration on that mix.
    pub fn on(&self, mix: &str) -> Option<&Calibration> {
        self.calibrations.iter().rev().find(|calibration| calibration.mix == mix)
    }

    /// The calibration that holds for a deployment on a mix; else why the latest on that mix is void: what differs, empty
    /// where there is none.
    ///
    /// # Errors
    /// As said.
    pub fn hold(&self, mix: &str, now: &Fingerprint) -> Result<&Calibration, Vec<String>> {
        let on_mix = || self.calibrations.iter().rev().filter(|c| c.mix == mix);
        match on_mix().find(|calibration| calibration.void(now).is_empty()) {
            Some(calibration) => Ok(calibration),
            None => Err(on_mix().next().map_or_else(Vec::new, |calibration| calibration.void(now))),
        }
    }

    /// Writes the file as a whole, so that a reader finds the old or the new one.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let fail = |source| Error::File { action: "write", path: path.to_owned(), source };
        let text = serde_json::to_string_pretty(self).map_err(|error| fail(error.into()))?;
        let part: PathBuf = path.with_extension("json.part");
        let write = || -> std::io::Result<()> {
            let mut file = fs::File::create(&part)?;
            file.write_all(text.as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&part, path)
        };
        write().map_err(fail)
    }
}

/// Says in a comparison what the calibrations know of base: how much it differs from itself, or why nothing is known.
pub fn annotate(report: &mut Report, calibrations: &Calibrations, mix: &str) {
    let Some(base) = report.sides.base.as_ref() else { return };
    match calibrations.hold(mix, &base.fingerprint) {
        Ok(calibration) => {
            let gated = report.metrics.iter().filter(|row| row.margin.is_some() && row.slice.is_none());
            let floors: Vec<String> = gated
                .filter_map(|row| {
                    let s_d = calibration.spread(row.metric, &row.stat)?;
                    Some(format!("{} {} {:.1} %", row.metric.label(), row.stat, s_d * 100.0))
                })
                .collect();
            let (alarms, all) = (calibration.false_alarms(), calibration.experiments.len());
            report.notes.push(format!(
                "A/A calibration: between runs of base alone the log ratio spreads by {}; {alarms} of {all} comparisons of \
                 base with itself failed",
                if floors.is_empty() { "an unknown amount".into() } else { floors.join(", ") },
            ));
        }
        Err(void) if void.is_empty() => {}
        Err(void) => report.notes.push(format!(
            "the A/A calibration on this mix is void, since base changed ({}): repeat firstcheck ab --aa",
            void.join("; ")
        )),
    }
}
