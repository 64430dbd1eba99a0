//! The frame of an answer: its status, what the server warns of, and its series, each given on as it is read.

use super::{element::Element, gathered::Gathered};
use crate::json::clip;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::{collections::BTreeSet, fmt};

/// Different warnings that are kept.
const MOST_WARNINGS: usize = 20;
/// Characters of a warning that are kept.
const LONGEST: usize = 300;

/// What answers say beside their series.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Why the server gave no result, in its words.
    pub(super) failure: Option<String>,
    warnings: BTreeSet<String>,
    partial: bool,
}

impl Told {
    /// What a reader should know.
    pub(super) fn notes(&self) -> Vec<String> {
        let partial = "the server says that the answer is partial: some of its stores did not answer".to_owned();
        let warnings = self.warnings.iter().map(|text| format!("the server warns: {text}"));
        self.partial.then_some(partial).into_iter().chain(warnings).collect()
    }

    fn warn(&mut self, texts: Vec<String>) {
        let room = MOST_WARNINGS.saturating_sub(self.warnings.len());
        self.warnings.extend(texts.into_iter().take(room).map(|text| clip(&text, LONGEST)));
    }
}

/// One answer, read into `gathered` and `told`.
pub(super) struct Answer<'a> {
    pub(super) gathered: &'a mut Gathered,
    pub(super) told: &'a mut Told,
}

impl<'de> DeserializeSeed<'de> for Answer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Answer<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer of the Prometheus API")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut failed, mut kind, mut message) = (false, None::<String>, None::<String>);
        // A line of an export is a series without a frame.
        let mut bare = Element::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "status" => failed = map.next_value::<Text>()?.0 == "error",
                "errorType" => kind = Some(map.next_value::<Text>()?.0),
                "error" => message = Some(map.next_value::<Text>()?.0),
                "isPartial" => self.told.partial |= map.next_value::<Option<bool>>()?.unwrap_or(false),
                "warnings" | "infos" => {
                    let texts = map.next_value::<Option<Vec<Text>>>()?.unwrap_or_default();
                    self.told.warn(texts.into_iter().map(|text| text.0).collect());
                }
                "data" => map.next_value_seed(Data(self.gathered))?,
                key => {
                    bare.field(key, &mut map)?;
                }
            }
        }
        if failed {
            let text = [kind, message].into_iter().flatten().collect::<Vec<_>>().join(": ");
            self.told.failure.get_or_insert(clip(&text, LONGEST));
        }
        if bare.is_series() {
            self.gathered.take(bare);
        }
        Ok(())
    }
}

/// A text; anything else is none.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let scalar = crate::json::Scalar::deserialize(deserializer)?;
        Ok(Self(scalar.text().unwrap_or_default().to_owned()))
    }
}

/// The `data` of an answer: an object with its `result`; lists of names and series hold no samples.
struct Data<'a>(&'a mut Gathered);

impl<'de> DeserializeSeed<'de> for Data<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Data<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the data of an answer")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "result" {
                map.next_value_seed(Elements(self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// The series of a result. Those of a scalar are a time and a text, and say nothing.
struct Elements<'a>(&'a mut Gathered);

impl<'de> DeserializeSeed<'de> for Elements<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of series")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(element) = seq.next_element::<Element>()? {
            if element.is_series() {
                self.0.take(element);
            }
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
