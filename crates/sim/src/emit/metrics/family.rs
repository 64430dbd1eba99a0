//! A family of a page, and how one is built.

use crate::emit::histogram::Histogram;
use firstcheck_model::signal::{Part, SeriesKind};
use std::borrow::Cow;

/// Type of a family as a page states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyKind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Buckets, sum and count.
    Histogram,
}

/// One sample of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    /// Which part of the family.
    pub part: Part,
    /// Labels besides `engine`, `model_name` and the bucket's bound.
    pub labels: Vec<(&'static str, Cow<'a, str>)>,
    /// Its value.
    pub value: f64,
}

/// A family with its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Family<'a> {
    /// Name as the type line states it.
    pub name: &'static str,
    /// What it is, for the help line.
    pub help: &'static str,
    /// Its type.
    pub kind: FamilyKind,
    /// Whether its samples carry the engine's labels.
    pub engine_labels: EngineLabels,
    /// Its samples.
    pub samples: Vec<Sample<'a>>,
}

/// Which labels every sample of a family carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineLabels {
    /// `engine` and `model_name`.
    Both,
    /// `engine`.
    Engine,
    /// `model_name`.
    Model,
    /// None: a family of the process.
    None,
}

impl<'a> Family<'a> {
    /// How the values of its series behave: buckets, sums and counts grow as counters do.
    pub fn series_kind(&self) -> SeriesKind {
        match self.kind {
            FamilyKind::Counter | FamilyKind::Histogram => SeriesKind::Counter,
            FamilyKind::Gauge => SeriesKind::Gauge,
        }
    }

    /// The same family with the labels that `which` says.
    #[must_use]
    pub(crate) fn labelled_by(self, which: EngineLabels) -> Self {
        Self { engine_labels: which, ..self }
    }

    /// A family with one sample for each value of `label`.
    pub(crate) fn by<const N: usize>(
        kind: FamilyKind,
        (name, help): (&'static str, &'static str),
        label: &'static str,
        values: [(&'static str, f64); N],
    ) -> Self {
        let sample = |(named, value)| Sample { part: Part::Value, labels: vec![(label, Cow::Borrowed(named))], value };
        let samples = values.into_iter().map(sample).collect();
        Self { name, help, kind, engine_labels: EngineLabels::Both, samples }
    }

    pub(crate) fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        let samples = vec![Sample { part: Part::Value, labels: Vec::new(), value }];
        Self { name, help, kind: FamilyKind::Gauge, engine_labels: EngineLabels::Both, samples }
    }

    pub(crate) fn counter(name: &'static str, help: &'static str, value: f64) -> Self {
        Self { kind: FamilyKind::Counter, ..Self::gauge(name, help, value) }
    }

    pub(crate) fn histogram(name: &'static str, help: &'static str, values: &Histogram) -> Self {
        let sample = |part, value| Sample { part, labels: Vec::new(), value };
        let mut samples: Vec<_> =
            values.cumulative().map(|(bound, count)| sample(Part::Bucket(bound), count as f64)).collect();
        samples.push(sample(Part::Count, values.count() as f64));
        samples.push(sample(Part::Sum, values.sum()));
        Self { name, help, kind: FamilyKind::Histogram, engine_labels: EngineLabels::Both, samples }
    }
}
