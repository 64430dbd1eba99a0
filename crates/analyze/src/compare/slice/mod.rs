//! Requests of one kind: by prompt length, by output length, by what the cache held, by tenant.
//!
//! A request is of one slice on both sides, by a rule that treats them alike: picking requests by what happened to them on
//! base alone would make every candidate look worse. So the longer of the two lengths counts, and a request that was
//! cached on one side only is of a slice of its own.

mod cells;
mod margin;

pub(super) use cells::{SliceCells, of_pair};
pub use margin::SliceMargin;

use super::columns::Line;
use serde::{Deserialize, Serialize};

/// How requests are sliced. Each bound is the largest length of its bin; lengths above the last are one bin more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Slices {
    /// Bounds of the bins of prompt tokens, ascending; empty: prompts are not sliced.
    pub prompt: Vec<u32>,
    /// Bounds of the bins of output tokens, ascending; empty: outputs are not sliced.
    pub output: Vec<u32>,
    /// Whether cached and uncached requests are told apart.
    pub cache: bool,
    /// Whether tenants are told apart: sessions, where there are few of them. Many sessions are conversations.
    pub tenant: bool,
    /// Most sessions that count as tenants.
    pub most_tenants: usize,
    /// Whether a pass needs every slice that can be claimed. Without it a slice can fail the gate and cannot hold up a
    /// pass.
    pub required: bool,
    /// Margins of slices that are held to others than everybody.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub margins: Vec<SliceMargin>,
}

impl Default for Slices {
    /// Short, middle and long prompts and outputs, and the state of the cache.
    fn default() -> Self {
        Self {
            prompt: vec![1_024, 8_192],
            output: vec![128, 512],
            cache: true,
            tenant: true,
            most_tenants: 20,
            required: false,
            margins: Vec::new(),
        }
    }
}

impl Slices {
    /// No slices.
    pub fn none() -> Self {
        Self { prompt: Vec::new(), output: Vec::new(), cache: false, tenant: false, ..Self::default() }
    }
}

/// What the cache held of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cached {
    /// Part of its prompt, on both sides.
    Yes,
    /// Nothing, on both sides.
    No,
    /// Part of it on one side, nothing on the other.
    OneSide,
}

/// One slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slice {
    /// The bin of its prompt's length.
    Prompt(usize),
    /// The bin of its output's length.
    Output(usize),
    /// What the cache held of it.
    Cache(Cached),
    /// Whose request it is.
    Tenant(u32),
}

impl Slice {
    /// As reports name it: `prompt 1025-8192`.
    pub fn name(self, slices: &Slices) -> String {
        match self {
            Self::Prompt(bin) => bin_name("prompt", &slices.prompt, bin),
            Self::Output(bin) => bin_name("output", &slices.output, bin),
            Self::Cache(Cached::Yes) => "cached".into(),
            Self::Cache(Cached::No) => "not cached".into(),
            Self::Cache(Cached::OneSide) => "cached on one side".into(),
            Self::Tenant(tenant) => format!("tenant {tenant}"),
        }
    }
}

fn bin_name(what: &str, bounds: &[u32], bin: usize) -> String {
    match (bin.checked_sub(1).and_then(|below| bounds.get(below)), bounds.get(bin)) {
        (None, Some(to)) => format!("{what} up to {to}"),
        (Some(from), Some(to)) => format!("{what} {}-{to}", from.saturating_add(1)),
        (Some(from), None) => format!("{what} above {from}"),
        (None, None) => what.to_owned(),
    }
}

/// A way of slicing: every request is of at most one slice of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dimension {
    Prompt,
    Output,
    Cache,
    Tenant,
}

impl Dimension {
    /// Those that the policy asks for.
    fn of(slices: &Slices) -> Vec<Self> {
        let asked = [
            (Self::Prompt, !slices.prompt.is_empty()),
            (Self::Output, !slices.output.is_empty()),
            (Self::Cache, slices.cache),
            (Self::Tenant, slices.tenant),
        ];
        asked.into_iter().filter(|(_, asked)| *asked).map(|(dimension, _)| dimension).collect()
    }

    /// The slice of a request, seen on both sides; `None` where neither side tells.
    fn slice(self, slices: &Slices, base: &Line, candidate: &Line) -> Option<Slice> {
        let longer = |of: fn(&Line) -> Option<u32>| of(base).max(of(candidate));
        match self {
            Self::Prompt => longer(|line| line.prompt).map(|length| Slice::Prompt(bin_of(&slices.prompt, length))),
            Self::Output => {
                let length = longer(|line| line.requested).or_else(|| longer(|line| line.output))?;
                Some(Slice::Output(bin_of(&slices.output, length)))
            }
            Self::Cache => {
                let held = |line: &Line| line.cached.map(|tokens| tokens > 0);
                Some(Slice::Cache(match (held(base), held(candidate)) {
                    (Some(true), Some(true) | None) | (None, Some(true)) => Cached::Yes,
                    (Some(false), Some(false) | None) | (None, Some(false)) => Cached::No,
                    (Some(_), Some(_)) => Cached::OneSide,
                    (None, None) => return None,
                }))
            }
            Self::Tenant => base.tenant.or(candidate.tenant).map(Slice::Tenant),
        }
    }

    /// All its slices that have a name before any request is seen.
    fn all(self, slices: &Slices) -> Vec<Slice> {
        match self {
            Self::Prompt => (0..=slices.prompt.len()).map(Slice::Prompt).collect(),
            Self::Output => (0..=slices.output.len()).map(Slice::Output).collect(),
            Self::Cache => [Cached::Yes, Cached::No, Cached::OneSide].map(Slice::Cache).to_vec(),
            Self::Tenant => Vec::new(),
        }
    }
}

fn bin_of(bounds: &[u32], length: u32) -> usize {
    bounds.partition_point(|bound| *bound < length)
}
