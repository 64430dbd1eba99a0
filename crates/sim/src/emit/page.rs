//! Families as text.

use super::metrics::{EngineLabels, Family, FamilyKind, Sample};
use firstcheck_model::signal::Part;
use std::fmt::Write;

/// What a page states of the process behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Process {
    /// Start of the process, Unix seconds; in virtual time, on the engine's clock.
    pub start_unix_seconds: f64,
    /// Resident memory, bytes; `None` where it is not known: the family is left out.
    pub resident_bytes: Option<f64>,
}

pub(crate) fn render(families: &[Family<'_>], model: &str) -> String {
    let mut text = String::with_capacity(48 * 1024);
    for family in families {
        let kind = match family.kind {
            FamilyKind::Counter => "counter",
            FamilyKind::Gauge => "gauge",
            FamilyKind::Histogram => "histogram",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {} {}\n# TYPE {} {kind}", family.name, family.help, family.name);
        for sample in &family.samples {
            write_sample(&mut text, family, sample, model);
        }
    }
    text
}

fn write_sample(text: &mut String, family: &Family<'_>, sample: &Sample<'_>, model: &str) {
    text.push_str(family.name);
    text.push_str(suffix(sample.part));
    let mut labels: Vec<(&str, &str)> = sample.labels.iter().map(|(name, value)| (*name, value.as_ref())).collect();
    let bound;
    if let Part::Bucket(le) = sample.part {
        bound = number(le);
        labels.push(("le", &bound));
    }
    labels.extend(engine_labels(family.engine_labels, model));
    labels.sort_unstable();
    for (position, (name, value)) in labels.iter().enumerate() {
        let _ = write!(text, "{}{name}=\"", if position == 0 { '{' } else { ',' });
        escape(text, value);
        text.push('"');
    }
    let close = if labels.is_empty() { "" } else { "}" };
    let _ = writeln!(text, "{close} {}", number(sample.value));
}

/// The labels that every sample of such a family carries.
pub(crate) fn engine_labels(which: EngineLabels, model: &str) -> impl Iterator<Item = (&'static str, &str)> {
    let engine = matches!(which, EngineLabels::Both | EngineLabels::Engine).then_some(("engine", "0"));
    let name = matches!(which, EngineLabels::Both | EngineLabels::Model).then_some(("model_name", model));
    engine.into_iter().chain(name)
}

/// What a sample's name has behind its family's.
pub(crate) fn suffix(part: Part) -> &'static str {
    match part {
        Part::Bucket(_) => "_bucket",
        Part::Sum => "_sum",
        Part::Count => "_count",
        Part::Value | Part::Quantile(_) => "",
    }
}

/// A number as Python's client writes it: always with a fraction, infinity as `+Inf`.
fn number(value: f64) -> String {
    if value == f64::INFINITY { "+Inf".into() } else { format!("{value:?}") }
}

fn escape(text: &mut String, value: &str) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}
