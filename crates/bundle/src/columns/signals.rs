//! Scraped series as columns: one row a sample.

use super::{Columns, batch_of, cell, schema_of};
use crate::error::{Error, Result};
use arrow_array::{
    Float64Array, Int64Array, RecordBatch, StringArray,
    types::{Float64Type, Int64Type},
};
use arrow_schema::{DataType, SchemaRef};
use firstcheck_model::{
    moment::Moment,
    signal::{Labels, Part, Series, SeriesKind},
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
    ser::{SerializeMap, Serializer},
};
use std::{collections::HashMap, fmt, path::Path, sync::Arc};

pub(crate) fn schema() -> SchemaRef {
    schema_of(&[
        ("page", DataType::Utf8, false),
        ("name", DataType::Utf8, false),
        ("labels", DataType::Utf8, false),
        ("kind", DataType::Utf8, false),
        ("part", DataType::Utf8, false),
        ("bound", DataType::Float64, true),
        ("at_ns", DataType::Int64, true),
        ("value", DataType::Float64, false),
    ])
}

const KINDS: [(SeriesKind, &str); 3] =
    [(SeriesKind::Counter, "counter"), (SeriesKind::Gauge, "gauge"), (SeriesKind::Untyped, "untyped")];

/// The name of a part, and the bucket's bound or the quantile.
fn part_cells(part: Part) -> (&'static str, Option<f64>) {
    match part {
        Part::Value => ("value", None),
        Part::Sum => ("sum", None),
        Part::Count => ("count", None),
        Part::Bucket(bound) => ("bucket", Some(bound)),
        Part::Quantile(rank) => ("quantile", Some(rank)),
    }
}

fn part_of(name: &str, bound: Option<f64>) -> Option<Part> {
    match (name, bound) {
        ("value", None) => Some(Part::Value),
        ("sum", None) => Some(Part::Sum),
        ("count", None) => Some(Part::Count),
        ("bucket", Some(bound)) => Some(Part::Bucket(bound)),
        ("quantile", Some(rank)) => Some(Part::Quantile(rank)),
        _ => None,
    }
}

/// One sample of a series.
#[derive(Clone, Copy)]
pub(crate) struct Sample<'a> {
    series: &'a Series,
    at: Moment,
    value: f64,
}

/// The samples of `series`, series by series.
pub(crate) fn samples(series: &[Series]) -> Result<Vec<Sample<'_>>> {
    let mut samples = Vec::new();
    for one in series {
        let (times, values) = (one.at.len(), one.value.len());
        if times != values {
            let what = format!("series {}{}", one.name, one.labels.render());
            return Err(Error::not_storable(what, format!("it has {times} times and {values} values")));
        }
        samples.extend(one.at.iter().zip(&one.value).map(|(&at, &value)| Sample { series: one, at, value }));
    }
    Ok(samples)
}

pub(crate) fn encode(samples: &[Sample<'_>]) -> Result<RecordBatch> {
    let texts = |of: fn(&Series) -> &str| StringArray::from_iter_values(samples.iter().map(|s| of(s.series)));
    let labels = samples.iter().map(|s| labels_json(&s.series.labels)).collect::<Result<Vec<_>>>()?;
    let columns = vec![
        Arc::new(texts(|s| &s.page)) as _,
        Arc::new(texts(|s| &s.name)) as _,
        Arc::new(StringArray::from_iter_values(labels)) as _,
        Arc::new(texts(|s| KINDS.iter().find(|(kind, _)| *kind == s.kind).map_or("untyped", |(_, name)| name))) as _,
        Arc::new(texts(|s| part_cells(s.part).0)) as _,
        Arc::new(samples.iter().map(|s| part_cells(s.series.part).1).collect::<Float64Array>()) as _,
        Arc::new(samples.iter().map(|s| s.at.get()).collect::<Int64Array>()) as _,
        Arc::new(Float64Array::from_iter_values(samples.iter().map(|s| s.value))) as _,
    ];
    batch_of("signals", schema(), columns)
}

/// Collects samples into series, in the order in which series first appear.
#[derive(Default)]
pub(crate) struct Collector {
    series: Vec<Series>,
    /// Row of a series by its columns joined; one string a series, not one a sample.
    rows: HashMap<String, usize>,
    key: String,
}

impl Collector {
    /// Adds the samples of `batch`.
    pub(crate) fn add(&mut self, batch: &RecordBatch, path: &Path) -> Result<()> {
        use fmt::Write;
        let columns = Columns { batch, path };
        let (page, name, labels) = (columns.texts("page")?, columns.texts("name")?, columns.texts("labels")?);
        let (kind, part) = (columns.texts("kind")?, columns.texts("part")?);
        let bound = columns.optional::<Float64Type>("bound")?;
        let at = columns.optional::<Int64Type>("at_ns")?;
        for (row, &value) in columns.numbers::<Float64Type>("value")?.iter().enumerate() {
            let texts = [page, name, labels, kind, part].map(|column| column.value(row));
            let bound = cell(bound, row);
            self.key.clear();
            for text in texts {
                self.key.push_str(text);
                self.key.push('\0');
            }
            let _ = write!(self.key, "{:?}", bound.map(f64::to_bits));
            let found = self.rows.get(&self.key).copied();
            let index = match found {
                Some(index) => index,
                None => {
                    self.series.push(new_series(&columns, texts, bound)?);
                    self.rows.insert(self.key.clone(), self.series.len() - 1);
                    self.series.len() - 1
                }
            };
            if let Some(series) = self.series.get_mut(index) {
                series.at.push(Moment::from(cell(at, row)));
                series.value.push(value);
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Vec<Series> {
        self.series
    }
}

fn new_series(columns: &Columns<'_>, texts: [&str; 5], bound: Option<f64>) -> Result<Series> {
    let [page, name, labels, kind, part] = texts;
    let OrderedLabels(pairs) = serde_json::from_str(labels).map_err(|_| columns.unknown("labels", labels))?;
    let known = KINDS.iter().find(|(_, name)| *name == kind);
    Ok(Series {
        name: name.into(),
        labels: Labels(pairs),
        page: page.into(),
        kind: known.map(|(kind, _)| *kind).ok_or_else(|| columns.unknown("kind", kind))?,
        part: part_of(part, bound).ok_or_else(|| columns.unknown("part", part))?,
        signal: None,
        at: Vec::new(),
        value: Vec::new(),
    })
}

fn labels_json(labels: &Labels) -> Result<String> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::new(&mut bytes);
    let mut write = || -> serde_json::Result<()> {
        let mut map = serializer.serialize_map(Some(labels.0.len()))?;
        for (name, value) in &labels.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    };
    write().map_err(|error| Error::not_storable("labels", error))?;
    String::from_utf8(bytes).map_err(|error| Error::not_storable("labels", error))
}

/// Labels in the order of the JSON object, a repeated name kept.
struct OrderedLabels(Vec<(String, String)>);

impl<'de> Deserialize<'de> for OrderedLabels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = OrderedLabels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<OrderedLabels, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(OrderedLabels(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}
