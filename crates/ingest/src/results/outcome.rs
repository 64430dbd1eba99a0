//! A result object as the serving benchmarks of vLLM and SGLang write it: scalars, and with details one list a property,
//! an entry a request.

use super::rows::hash;
use crate::json::Scalar;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::{collections::BTreeMap, fmt};

/// One result object: its scalars by name, and the lists of a detailed one, an entry a request.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) scalars: BTreeMap<String, Scalar>,
    pub(super) input_lens: Option<Vec<f64>>,
    pub(super) output_lens: Option<Vec<f64>>,
    pub(super) ttfts: Option<Vec<f64>>,
    pub(super) itls: Option<Vec<Vec<f64>>>,
    pub(super) latencies: Option<Vec<f64>>,
    pub(super) start_times: Option<Vec<f64>>,
    pub(super) errors: Option<Vec<Option<String>>>,
}

impl Outcome {
    /// The number of that name.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.scalars.get(name)?.number()
    }

    /// The text of that name.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.scalars.get(name)?.text()
    }

    /// What makes it this result and no other.
    pub(super) fn content(&self) -> u64 {
        let scalars: Vec<String> = self.scalars.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
        let starts = format!("{:?}", self.start_times);
        let firsts = format!("{:?}", self.ttfts);
        hash(scalars.iter().map(String::as_str).chain([starts.as_str(), firsts.as_str()]))
    }
}

/// One object, or a list of them.
pub(super) enum Entry {
    One(Box<Outcome>),
    Several(Vec<Outcome>),
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Entry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a result object or a list of them")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
                read_object(map).map(|result| Entry::One(Box::new(result)))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Entry, A::Error> {
                let mut all = Vec::new();
                while let Some(result) = seq.next_element::<Outcome>()? {
                    all.push(result);
                }
                Ok(Entry::Several(all))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Outcome;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a result object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Outcome, A::Error> {
                read_object(map)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

fn read_object<'de, A: MapAccess<'de>>(mut map: A) -> Result<Outcome, A::Error> {
    let mut result = Outcome::default();
    while let Some(key) = map.next_key::<String>()? {
        match key.as_str() {
            "input_lens" => result.input_lens = map.next_value()?,
            "output_lens" => result.output_lens = map.next_value()?,
            "ttfts" => result.ttfts = map.next_value()?,
            "itls" => result.itls = map.next_value()?,
            "latencies" => result.latencies = map.next_value()?,
            "start_times" => result.start_times = map.next_value()?,
            "errors" => result.errors = map.next_value()?,
            "generated_texts" => drop(map.next_value::<IgnoredAny>()?),
            _ => drop(result.scalars.insert(key, map.next_value()?)),
        }
    }
    Ok(result)
}
