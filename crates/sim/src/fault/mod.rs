//! Faults: named changes to a deployment, each a cause of a symptom that checks look for.
//!
//! A fault never reaches into an engine by a side door. It changes parameters that are healthy by default, or what
//! server and client do to requests, from one moment to another; everything else follows from the simulation.

mod build;
pub mod catalogue;
mod error;
mod parse;
mod rig;
pub mod scene;
mod traffic;
mod values;

pub use build::{healthy, one_side, scenario};
pub use catalogue::{catalogue, find};
pub use error::FaultError;
pub use rig::Rig;
pub use scene::Scene;
pub use values::Values;

use std::{fmt, str::FromStr};

/// How bad a fault is by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Just worth finding.
    Mild,
    /// What an incident looks like.
    #[default]
    Moderate,
    /// Hard to miss.
    Severe,
}

impl Severity {
    /// All severities, from the mildest.
    pub const ALL: [Self; 3] = [Self::Mild, Self::Moderate, Self::Severe];

    /// The name on the command line and in a fault's text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mild => "mild",
            Self::Moderate => "moderate",
            Self::Severe => "severe",
        }
    }
}

impl FromStr for Severity {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let named = Self::ALL.into_iter().find(|severity| severity.name() == text);
        named.ok_or_else(|| FaultError::Severity { text: text.into() })
    }
}

/// A parameter of a fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Param {
    /// Its name in a fault's text form.
    pub name: &'static str,
    /// Its unit; empty for a plain number.
    pub unit: &'static str,
    /// Its value by default: mild, moderate, severe.
    pub by_severity: [f64; 3],
    /// Least and greatest value.
    pub range: [f64; 2],
    /// What it is.
    pub doc: &'static str,
}

/// A parameter, in the order of its fields.
const fn param(
    name: &'static str,
    unit: &'static str,
    by_severity: [f64; 3],
    range: [f64; 2],
    doc: &'static str,
) -> Param {
    Param { name, unit, by_severity, range, doc }
}

/// Name of the parameter by which a fault ends by itself: seconds from its start.
const LASTS: &str = "lasts_s";

impl Param {
    /// Its value by default.
    pub fn default_at(&self, severity: Severity) -> f64 {
        let [mild, moderate, severe] = self.by_severity;
        match severity {
            Severity::Mild => mild,
            Severity::Moderate => moderate,
            Severity::Severe => severe,
        }
    }
}

/// A fault that can be made to act.
#[derive(Clone, Copy)]
pub struct FaultSpec {
    /// Its name.
    pub slug: &'static str,
    /// Code of the symptom that it brings about.
    pub symptom: &'static str,
    /// The cause that the symptom's check should support.
    pub cause: &'static str,
    /// Where it acts: `chat template`, `scheduler`, `router`, `client`, …
    pub acts_in: &'static str,
    /// What goes wrong, in a sentence.
    pub doc: &'static str,
    /// What the deployment has to have for it to act.
    pub scene: Scene,
    /// Its parameters.
    pub params: &'static [Param],
    /// Sets it up in a healthy rig.
    pub apply: fn(&Values, &mut Rig<'_>),
}

impl fmt::Debug for FaultSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "FaultSpec({})", self.slug)
    }
}

/// A fault with its values and its time.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Which.
    pub spec: &'static FaultSpec,
    /// How much.
    pub values: Values,
    /// From when, nanoseconds from the run's start.
    pub start_ns: i64,
    /// Until when, nanoseconds from the run's start; `None`: to the end.
    pub end_ns: Option<i64>,
}

impl Fault {
    /// A fault at a severity, acting all the time.
    pub fn new(spec: &'static FaultSpec, severity: Severity) -> Self {
        Self { values: Values::of(spec, severity), spec, start_ns: 0, end_ns: None }
    }

    /// When it ends, nanoseconds from the run's start: as asked, or by itself if that is earlier.
    pub fn ends_ns(&self) -> Option<i64> {
        let lasts = self.values.iter().find(|(name, _)| *name == LASTS).map(|(_, seconds)| (seconds * 1e9) as i64);
        let by_itself = lasts.map(|length| self.start_ns.saturating_add(length));
        match (self.end_ns, by_itself) {
            (Some(asked), Some(itself)) => Some(asked.min(itself)),
            (asked, itself) => asked.or(itself),
        }
    }

    /// Whether it acts at a moment.
    pub fn acts_at(&self, at_ns: i64) -> bool {
        self.start_ns <= at_ns && self.ends_ns().is_none_or(|end_ns| at_ns < end_ns)
    }
}

/// The text form, with every value.
impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.spec.slug)?;
        for (place, (name, value)) in self.values.iter().enumerate() {
            write!(formatter, "{}{name}={value}", if place == 0 { ':' } else { ',' })?;
        }
        let seconds = |at_ns: i64| at_ns as f64 / 1e9;
        match (self.start_ns, self.end_ns) {
            (0, None) => Ok(()),
            (start, None) => write!(formatter, "@{}s..", seconds(start)),
            (start, Some(end)) => write!(formatter, "@{}s..{}s", seconds(start), seconds(end)),
        }
    }
}
