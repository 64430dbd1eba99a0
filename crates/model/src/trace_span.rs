//! Spans of a distributed trace, as OpenTelemetry carries them.

use crate::unit::Seconds;
use serde::{Deserialize, Serialize};

/// A value of an attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AttributeValue {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text; lists, maps and bytes as their JSON.
    Text(String),
}

/// Attributes by name, in the order of the source.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Attributes(pub Vec<(String, AttributeValue)>);

impl Attributes {
    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The text of `name`.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            AttributeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number of `name`, also one written as a text.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            AttributeValue::Int(value) => Some(*value as f64),
            AttributeValue::Float(value) => Some(*value).filter(|value| value.is_finite()),
            AttributeValue::Text(text) => text.parse().ok().filter(|value: &f64| value.is_finite()),
            AttributeValue::Bool(_) => None,
        }
    }

    /// The duration of `name`, where it is one: seconds, finite and not negative.
    pub fn seconds(&self, name: &str) -> Option<Seconds> {
        self.number(name).filter(|seconds| *seconds >= 0.0).map(Seconds)
    }
}

/// One span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceSpan {
    /// Trace, 32 hexadecimal digits.
    pub trace_id: String,
    /// Span, 16 hexadecimal digits.
    pub span_id: String,
    /// The span it is part of.
    pub parent_id: Option<String>,
    /// Its name.
    pub name: String,
    /// Start, nanoseconds of Unix time on its host's clock.
    pub start_unix_ns: i64,
    /// End, nanoseconds of Unix time on its host's clock.
    pub end_unix_ns: i64,
    /// Service that it runs in (`service.name`).
    pub service: Option<String>,
    /// Instance, host or pod of that service, as far as stated; one clock each.
    pub instance: Option<String>,
    /// Whether it ended in an error.
    pub failed: bool,
    /// Its attributes.
    pub attributes: Attributes,
}

impl TraceSpan {
    /// How long it lasted; zero where its clock ran backwards.
    pub fn length(&self) -> Seconds {
        Seconds(self.end_unix_ns.saturating_sub(self.start_unix_ns).max(0) as f64 * 1e-9)
    }
}
