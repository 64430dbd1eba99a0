//! One series of an answer: its labels and samples, as pairs of a time and a text, or as two lists.

use crate::json::Scalar;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::{collections::BTreeMap, fmt};

/// Samples of one series in one answer that are held; Prometheus itself gives no more than 11,000.
const MOST_SAMPLES: usize = 2_000_000;

/// A series as an answer writes it.
#[derive(Debug, Default)]
pub(super) struct Element {
    /// Its labels, the name under `__name__`; `None`: it is no series.
    pub(super) metric: Option<BTreeMap<String, String>>,
    /// Samples: nanoseconds of Unix time and values.
    samples: Vec<(i64, f64)>,
    /// Values and times, where they are two lists.
    values: Vec<f64>,
    times: Vec<f64>,
    /// Samples that are no time and number.
    pub(super) unreadable: u64,
    /// Samples that are native histograms.
    pub(super) histograms: u64,
}

impl Element {
    /// Whether it has labels.
    pub(super) fn is_series(&self) -> bool {
        self.metric.is_some()
    }

    /// Takes the field `key`.
    pub(super) fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "metric" => self.metric = Some(map.next_value()?),
            "value" => self.item(map.next_value()?),
            "values" => map.next_value_seed(List(&mut |item| self.item(item)))?,
            "timestamps" => map.next_value_seed(List(&mut |item| self.time(item)))?,
            "histogram" => {
                map.next_value::<IgnoredAny>()?;
                self.histograms += 1;
            }
            "histograms" => map.next_value_seed(List(&mut |_| self.histograms += 1))?,
            _ => {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn item(&mut self, item: Item) {
        match item {
            Item::Sample(at, value) if self.samples.len() < MOST_SAMPLES => self.samples.push((at, value)),
            Item::Value(value) if self.values.len() < MOST_SAMPLES => self.values.push(value),
            _ => self.unreadable += 1,
        }
    }

    /// A time of an export, milliseconds.
    fn time(&mut self, item: Item) {
        match item {
            Item::Value(time) if self.times.len() < MOST_SAMPLES => self.times.push(time),
            _ => self.unreadable += 1,
        }
    }

    /// Its samples, those whose times stood in a list of their own among them.
    pub(super) fn samples(&mut self) -> Vec<(i64, f64)> {
        self.unreadable += self.times.len().abs_diff(self.values.len()) as u64;
        for (time, value) in self.times.drain(..).zip(self.values.drain(..)) {
            match nanoseconds(time / 1e3) {
                Some(at) => self.samples.push((at, value)),
                None => self.unreadable += 1,
            }
        }
        std::mem::take(&mut self.samples)
    }
}

/// Seconds of Unix time in nanoseconds, to the millisecond: that is what Prometheus keeps.
fn nanoseconds(seconds: f64) -> Option<i64> {
    let milliseconds = (seconds * 1e3).round();
    (milliseconds.abs() < 9.2e12).then(|| milliseconds as i64 * 1_000_000)
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneSeries;

        impl<'de> Visitor<'de> for OneSeries {
            type Value = Element;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a series")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Element, A::Error> {
                let mut element = Element::default();
                while let Some(key) = map.next_key::<String>()? {
                    element.field(&key, &mut map)?;
                }
                Ok(element)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Element, E> {
                Ok(Element::default())
            }

            fn visit_u64<E>(self, _: u64) -> Result<Element, E> {
                Ok(Element::default())
            }

            fn visit_i64<E>(self, _: i64) -> Result<Element, E> {
                Ok(Element::default())
            }

            fn visit_str<E>(self, _: &str) -> Result<Element, E> {
                Ok(Element::default())
            }
        }

        deserializer.deserialize_any(OneSeries)
    }
}

/// A list whose elements are given on one by one.
struct List<'f>(&'f mut dyn FnMut(Item));

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of samples")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(item) = seq.next_element()? {
            (self.0)(item);
        }
        Ok(())
    }
}

/// What stands in a list of values.
enum Item {
    /// A time and a value.
    Sample(i64, f64),
    /// A value, or a time by itself.
    Value(f64),
    Unreadable,
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneItem;

        impl<'de> Visitor<'de> for OneItem {
            type Value = Item;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sample")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Item, A::Error> {
                let time: Option<Scalar> = seq.next_element()?;
                let value: Option<Scalar> = seq.next_element()?;
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                let at = time.and_then(|time| time.number()).and_then(nanoseconds);
                let value = value.and_then(|value| value.number());
                Ok(at.zip(value).map_or(Item::Unreadable, |(at, value)| Item::Sample(at, value)))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Item, E> {
                Ok(Item::Value(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Item, E> {
                Ok(Item::Value(value as f64))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Item, E> {
                Ok(Item::Value(value as f64))
            }

            fn visit_str<E>(self, value: &str) -> Result<Item, E> {
                Ok(value.parse().map_or(Item::Unreadable, Item::Value))
            }

            /// An export writes a number that is none like this.
            fn visit_unit<E>(self) -> Result<Item, E> {
                Ok(Item::Value(f64::NAN))
            }
        }

        deserializer.deserialize_any(OneItem)
    }
}
