//! Service-level objectives: joint bounds on a request.

use crate::unit::Seconds;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Joint bounds: a request is *good* when it completed and meets each bound that is set.
///
/// # Example: as on the command line
/// ```
/// use firstcheck_model::slo::Slo;
/// let slo: Slo = "ttft=1s,itl=50ms".parse().unwrap();
/// assert_eq!(slo.ttft.map(|s| s.0), Some(1.0));
/// assert_eq!(slo.tpot.map(|s| s.0), Some(0.05));
/// assert!("ttft=fast".parse::<Slo>().is_err());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slo {
    /// Bound on the time to first token, from the intended send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft: Option<Seconds>,
    /// Bound on the mean inter-token latency of the request (`itl` and `tpot` on the command line).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpot: Option<Seconds>,
    /// Bound on the whole request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e2e: Option<Seconds>,
    /// Bound on the longest gap of the stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Seconds>,
}

/// An SLO that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SloError {
    /// A part without `=`.
    #[error("slo part `{0}` is not NAME=DURATION, e.g. ttft=1s,itl=50ms")]
    NotAPair(String),
    /// A name that is no bound.
    #[error("unknown slo bound `{0}`: use ttft, itl (or tpot), e2e, gap")]
    UnknownBound(String),
    /// A duration that cannot be read.
    #[error("cannot read duration `{0}`: use a positive number with its unit: us, ms, s, m, h or d")]
    BadDuration(String),
    /// The same bound twice.
    #[error("slo bound `{0}` is given twice")]
    Twice(String),
    /// No bound at all.
    #[error("empty slo: give at least one bound, e.g. ttft=1s")]
    Empty,
}

/// A duration such as `1s`, `50ms`, `200us`, `2m`.
///
/// # Errors
/// [`SloError::BadDuration`] when the text is no positive finite number with one of these units.
pub fn parse_duration(text: &str) -> Result<Seconds, SloError> {
    match parse_duration_or_zero(text)? {
        Seconds(seconds) if seconds > 0.0 => Ok(Seconds(seconds)),
        Seconds(_) => Err(SloError::BadDuration(text.trim().into())),
    }
}

/// The same, or none at all: `0s`, `0m`.
///
/// # Errors
/// [`SloError::BadDuration`] when the text is no finite number from 0 with one of these units.
pub fn parse_duration_or_zero(text: &str) -> Result<Seconds, SloError> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic() || c == 'µ').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(SloError::BadDuration(text.into())),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(Seconds(value * scale)),
        _ => Err(SloError::BadDuration(text.into())),
    }
}

impl FromStr for Slo {
    type Err = SloError;

    fn from_str(text: &str) -> Result<Self, SloError> {
        let mut slo = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| SloError::NotAPair(part.into()))?;
            let slot = match name.trim() {
                "ttft" => &mut slo.ttft,
                "itl" | "tpot" => &mut slo.tpot,
                "e2e" | "e2el" => &mut slo.e2e,
                "gap" => &mut slo.gap,
                other => return Err(SloError::UnknownBound(other.into())),
            };
            if slot.replace(parse_duration(value)?).is_some() {
                return Err(SloError::Twice(name.trim().into()));
            }
        }
        if slo == Self::default() { Err(SloError::Empty) } else { Ok(slo) }
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for (name, bound) in [("ttft", self.ttft), ("itl", self.tpot), ("e2e", self.e2e), ("gap", self.gap)] {
            if let Some(Seconds(s)) = bound {
                if s < 1.0 {
                    write!(f, "{comma}{name}={}ms", round3(s * 1e3))?
                } else {
                    write!(f, "{comma}{name}={}s", round3(s))?
                }
                comma = ",";
            }
        }
        Ok(())
    }
}

fn round3(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
