//! What a JSON value is made of, without its contents: enough to tell formats apart, whatever the size of the file.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Levels of keys that are kept.
pub(super) const DEPTH: u8 = 4;

/// A value's keys down to a few levels; of a list, its first element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outline {
    Object(Vec<(String, Outline)>),
    List(Option<Box<Outline>>),
    Text(String),
    Other,
}

impl Outline {
    /// The value under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(fields) = self else { return None };
        fields.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Whether all `keys` are there.
    pub(crate) fn has(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.get(key).is_some())
    }

    /// The keys of an object.
    pub(crate) fn keys(&self) -> Vec<&str> {
        let Self::Object(fields) = self else { return Vec::new() };
        fields.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The first element of a list, or the value itself.
    pub(crate) fn first(&self) -> Option<&Self> {
        match self {
            Self::List(first) => first.as_deref(),
            other => Some(other),
        }
    }
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Level(DEPTH).deserialize(deserializer)
    }
}

/// How many levels are still kept.
#[derive(Clone, Copy)]
struct Level(u8);

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Outline;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Outline, D::Error> {
        if self.0 == 0 {
            return IgnoredAny::deserialize(deserializer).map(|_| Outline::Other);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Outline;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outline, A::Error> {
        let mut fields = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            fields.push((key, map.next_value_seed(Self(self.0 - 1))?));
        }
        Ok(Outline::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Outline, A::Error> {
        let first = seq.next_element_seed(Self(self.0 - 1))?.map(Box::new);
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Outline::List(first))
    }

    fn visit_str<E>(self, text: &str) -> Result<Outline, E> {
        Ok(Outline::Text(text.chars().take(64).collect()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_unit<E>(self) -> Result<Outline, E> {
        Ok(Outline::Other)
    }
}
