//! Answers of live sources, read as if they had been saved to files.

use std::path::PathBuf;

/// An answer that was fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fetched {
    /// How reports name it: its address.
    pub name: String,
    /// What it belongs to: answers of one deployment share it, as files share a folder.
    pub source: PathBuf,
    /// Its content, secrets taken out.
    pub bytes: Vec<u8>,
    /// What a reader should know of how it was fetched.
    pub notes: Vec<String>,
    /// Names of series that are there, say nothing to us, and were not asked for.
    pub passed_over: Vec<String>,
}
