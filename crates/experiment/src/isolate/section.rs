//! `[isolate]` of `firstcheck.toml`.

use crate::ab::SideSection;
use serde::{Deserialize, Deserializer, de};
use std::{collections::BTreeMap, fmt};

/// What `isolate` takes apart where its arguments do not say.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IsolateSection {
    /// Blocks to run: of each combination one run a block.
    pub blocks: Option<u32>,
    /// The deployment, with `{NAME}` where the level of a factor goes, or `{version}`.
    pub deployment: SideSection,
    /// The factors.
    pub factor: Vec<FactorSection>,
    /// Combinations that may not be run.
    pub forbid: Vec<ForbidSection>,
    /// Versions in order, the first known to be good: to be bisected instead of factors.
    pub versions: Vec<String>,
}

/// A factor.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactorSection {
    /// Its name.
    pub name: String,
    /// Its levels: base's first, the candidate's last.
    pub levels: Vec<LevelSection>,
}

/// A level: its name alone, or with what it changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LevelSection {
    /// Its name.
    pub name: String,
    /// What goes where the factor's name stands in braces; without it the level's name.
    pub value: Option<String>,
    /// Words that are put behind the start command.
    pub args: Vec<String>,
    /// Environment variables of the start command.
    pub env: BTreeMap<String, String>,
}

/// Combinations that may not be run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForbidSection {
    /// Levels by factor; a factor that is not named may have any.
    pub levels: BTreeMap<String, String>,
    /// Why.
    #[serde(default)]
    pub why: Option<String>,
}

impl<'de> Deserialize<'de> for LevelSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            name: String,
            value: Option<String>,
            #[serde(default)]
            args: Vec<String>,
            #[serde(default)]
            env: BTreeMap<String, String>,
        }
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = LevelSection;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a level, or a table with name, value, args, env")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<LevelSection, E> {
                Ok(LevelSection { name: name.to_owned(), ..LevelSection::default() })
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<LevelSection, A::Error> {
                let Table { name, value, args, env } = Table::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(LevelSection { name, value, args, env })
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
