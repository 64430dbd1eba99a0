//! The text form of a fault: `slug[:key=value,…][@START..END]`.

use super::{Fault, FaultError, FaultSpec, Severity, Values, catalogue, find};
use firstcheck_model::slo::parse_duration_or_zero;

impl Fault {
    /// Reads a fault: `slug[:key=value,…][@START..END]`. What it leaves out has the defaults of `severity`, or of the
    /// severity that it names itself (`severity=mild` among its values). Times count from the run's start: `30s`,
    /// `500ms`, `2m`, or a plain number of seconds.
    ///
    /// # Errors
    /// Names that there are not, values out of range, times that are none.
    pub fn parse(text: &str, severity: Severity) -> Result<Self, FaultError> {
        let (text, period) = match text.split_once('@') {
            Some((text, period)) => (text, Some(period)),
            None => (text, None),
        };
        let (slug, given) = match text.split_once(':') {
            Some((slug, given)) => (slug, given),
            None => (text, ""),
        };
        let spec = find(slug.trim()).ok_or_else(|| FaultError::unknown(slug.trim()))?;
        let pairs = pairs(spec, given)?;
        let own = pairs.iter().rev().find(|(name, _)| *name == "severity").map(|(_, value)| value.parse());
        let mut values = Values::of(spec, own.transpose()?.unwrap_or(severity));
        for (name, value) in pairs.iter().filter(|(name, _)| *name != "severity") {
            let Some(param) = spec.params.iter().find(|param| param.name == *name) else {
                return Err(FaultError::unknown_param(spec, name));
            };
            let number = value.parse().map_err(|_| FaultError::Number {
                slug: spec.slug,
                name: param.name,
                text: (*value).to_owned(),
            })?;
            values.set(spec, name, number)?;
        }
        let (start_ns, end_ns) = period.map_or(Ok((0, None)), |period| read_period(spec.slug, period))?;
        Ok(Self { spec, values, start_ns, end_ns })
    }
}

fn pairs<'t>(spec: &'static FaultSpec, given: &'t str) -> Result<Vec<(&'t str, &'t str)>, FaultError> {
    let parts = given.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pair = |part: &'t str| match part.split_once('=') {
        Some((name, value)) => Ok((name.trim(), value.trim())),
        None => Err(FaultError::Pair { slug: spec.slug, text: part.into() }),
    };
    parts.map(pair).collect()
}

fn read_period(slug: &'static str, text: &str) -> Result<(i64, Option<i64>), FaultError> {
    let wrong = |reason: String| FaultError::Period { slug, text: text.into(), reason };
    let Some((start, end)) = text.split_once("..") else { return Err(wrong("`..` is missing".into())) };
    let time = |text: &str| match text.trim() {
        "" => Ok(None),
        text => seconds(text).map(|seconds| Some((seconds * 1e9).round() as i64)).map_err(wrong),
    };
    let (start, end) = (time(start)?, time(end)?);
    let start_ns = start.unwrap_or(0);
    if end.is_some_and(|end_ns| end_ns <= start_ns) {
        return Err(wrong("it ends before it starts".into()));
    }
    Ok((start_ns, end))
}

fn seconds(text: &str) -> Result<f64, String> {
    let read = text.parse::<f64>().ok().or_else(|| parse_duration_or_zero(text).ok().map(|seconds| seconds.0));
    match read {
        Some(seconds) if (0.0..=1e9).contains(&seconds) => Ok(seconds),
        _ => Err(format!("`{text}` is no time")),
    }
}

impl FaultError {
    fn unknown(slug: &str) -> Self {
        let suggestion = nearest(slug, catalogue().map(|spec| spec.slug));
        Self::Unknown { slug: slug.into(), suggestion }
    }

    pub(super) fn unknown_param(spec: &'static FaultSpec, name: &str) -> Self {
        let known: Vec<_> = spec.params.iter().map(|param| param.name).collect();
        let suggestion = nearest(name, known.iter().copied());
        Self::UnknownParam { slug: spec.slug, name: name.into(), suggestion, known }
    }
}

/// The name nearest to `word`, if any is near enough to be meant.
fn nearest(word: &str, names: impl Iterator<Item = &'static str>) -> Option<String> {
    const NEAR: f64 = 0.6;
    let scored = names.map(|name| (strsim::normalized_damerau_levenshtein(word, name), name));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (best.0 >= NEAR).then(|| best.1.to_owned())
}
