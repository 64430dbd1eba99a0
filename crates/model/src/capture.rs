//! A capture: what could be got of a deployment within a minute, and what could not.

use serde::{Deserialize, Serialize};

/// Version of the manifest.
pub const SCHEMA: &str = "firstcheck.capture/1";

/// What an archive holds, and what it lacks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// The tool that made it, with its version.
    pub tool: String,
    /// When it began, Unix seconds.
    pub from_unix_s: f64,
    /// When it ended, Unix seconds.
    pub to_unix_s: f64,
    /// What was tried, in order.
    pub items: Vec<Item>,
}

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Its name: `metrics`, `log server.log`, `stacks of 77`.
    pub name: String,
    /// Files that it gave.
    pub files: Vec<String>,
    /// Their length together.
    pub bytes: u64,
    /// How long it took, seconds.
    pub took_s: f64,
    /// What of it could not be got, each with the reason.
    pub missing: Vec<String>,
}

impl Manifest {
    /// What could not be got: the item, and why.
    pub fn gaps(&self) -> impl Iterator<Item = (&str, &str)> {
        self.items.iter().flat_map(|item| item.missing.iter().map(|why| (item.name.as_str(), why.as_str())))
    }

    /// Whether anything was got at all.
    pub fn has_files(&self) -> bool {
        self.items.iter().any(|item| !item.files.is_empty())
    }
}
