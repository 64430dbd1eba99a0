//! What a deployment is.

pub mod field;
mod group;
pub mod impact;

pub use group::Group;
pub use impact::Impact;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Statements of one field that are kept; more contradict each other no further.
const MOST_STATEMENTS: usize = 8;

/// The value of a setting that a source states to be unset (`None`, `null`): known, and nothing.
pub const UNSET: &str = "none";

/// What a deployment says it is: fields by name, each with where it was read. Secrets never enter it, and what no source
/// states is no field.
///
/// # Example: sources that contradict each other both stand, the later one first
/// ```
/// use firstcheck_model::fingerprint::{Fingerprint, field};
/// let mut print = Fingerprint::default();
/// print.set(field::MAX_NUM_SEQS, "256", "server.log");
/// print.set(field::MAX_NUM_SEQS, "64", "/server_info");
/// assert_eq!(print.get(field::MAX_NUM_SEQS), Some("64"));
/// let also: Vec<_> = print.field(field::MAX_NUM_SEQS).unwrap().also.iter().map(|s| s.value.as_str()).collect();
/// assert_eq!(also, ["256"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Written>", into = "BTreeMap<String, Field>")]
pub struct Fingerprint {
    fields: BTreeMap<String, Field>,
}

/// One field: what it speaks of, and what sources state of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Field {
    /// What it speaks of.
    pub group: Group,
    /// What counts: of several sources, the one that knows better.
    #[serde(flatten)]
    pub stated: Stated,
    /// Statements of other sources that contradict it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Stated>,
}

/// A value with where it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stated {
    /// The value as text.
    pub value: String,
    /// Where it was read: `/version`, `/metrics`, a file.
    pub from: String,
    /// The line of it, counted from 1, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl Stated {
    /// A value read from `from`.
    pub fn new(value: impl Into<String>, from: impl Into<String>) -> Self {
        Self { value: value.into(), from: from.into(), line: None }
    }

    /// The same with the line it stands on.
    pub fn at_line(self, line: u64) -> Self {
        Self { line: Some(line), ..self }
    }

    /// Whether both state the same. How engines and pages write truth values, numbers and data types differs.
    pub fn agrees(&self, other: &Self) -> bool {
        same(&self.value, &other.value)
    }
}

/// A field as files hold it: those written before fields had groups name none.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    group: Option<Group>,
    #[serde(flatten)]
    stated: Stated,
    #[serde(default)]
    also: Vec<Stated>,
}

impl From<BTreeMap<String, Written>> for Fingerprint {
    fn from(written: BTreeMap<String, Written>) -> Self {
        let field = |(name, Written { group, stated, also }): (String, Written)| {
            let group = group.unwrap_or_else(|| Group::of(&name));
            (name, Field { group, stated, also })
        };
        Self { fields: written.into_iter().map(field).collect() }
    }
}

impl From<Fingerprint> for BTreeMap<String, Field> {
    fn from(print: Fingerprint) -> Self {
        print.fields
    }
}

impl Fingerprint {
    /// States `name` in the group that its name belongs to.
    pub fn set(&mut self, name: &str, value: impl Into<String>, from: &str) {
        self.state(Group::of(name), name, Stated::new(value, from));
    }

    /// States `name`. A later source counts more than an earlier one, which stands beside it where the two contradict.
    pub fn state(&mut self, group: Group, name: &str, stated: Stated) {
        let Some(field) = self.fields.get_mut(name) else {
            self.fields.insert(name.to_owned(), Field { group, stated, also: Vec::new() });
            return;
        };
        let earlier = std::mem::replace(&mut field.stated, stated);
        field.also.retain(|other| !other.agrees(&field.stated));
        if !earlier.agrees(&field.stated) {
            field.also.insert(0, earlier);
        }
        field.also.truncate(MOST_STATEMENTS);
    }

    /// Adds everything that `later` states.
    pub fn merge(&mut self, later: &Self) {
        for (name, field) in &later.fields {
            for stated in field.also.iter().rev().chain([&field.stated]) {
                self.state(field.group, name, stated.clone());
            }
        }
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.get(name)
    }

    /// All fields by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Field)> {
        self.fields.iter().map(|(name, field)| (name.as_str(), field))
    }

    /// Fields of one group by name.
    pub fn group(&self, group: Group) -> impl Iterator<Item = (&str, &Field)> {
        self.iter().filter(move |(_, field)| field.group == group)
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The value of `name`, where it is set to one.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(|field| field.stated.value.as_str()).filter(|value| *value != UNSET)
    }

    /// The value of `name` as a number, if it is one.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.parse().ok()
    }

    /// Fields that both state differently, by name.
    pub fn differences<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (&'a str, &'a Field, &'a Field)> {
        let both = self.iter().filter_map(|(name, ours)| Some((name, ours, other.field(name)?)));
        both.filter(|(_, ours, theirs)| !ours.stated.agrees(&theirs.stated))
    }
}

/// Whether two values mean the same: `True` and `true`, `2048` and `2048.0`, `torch.float16` and `float16`. Versions are
/// no numbers: `0.10` is not `0.1`.
fn same(one: &str, other: &str) -> bool {
    one == other || plain(one) == plain(other)
}

/// A value without what only its writer's language adds.
fn plain(value: &str) -> String {
    let value = value.strip_prefix("torch.").unwrap_or(value);
    let whole = value.strip_suffix(".0").filter(|whole| whole.bytes().all(|byte| byte.is_ascii_digit()));
    whole.unwrap_or(value).to_ascii_lowercase()
}
