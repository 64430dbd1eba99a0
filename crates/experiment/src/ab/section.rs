//! `[ab]` of `firstcheck.toml`.

use serde::Deserialize;
use std::collections::BTreeMap;

/// What `ab` does where its arguments do not say.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AbSection {
    /// Pairs to run.
    pub pairs: Option<u32>,
    /// Two devices that the sides swap between pairs: their names go where `{device}` stands in addresses and commands.
    pub devices: Vec<String>,
    /// What is known to be good.
    pub base: SideSection,
    /// What is in question.
    pub candidate: SideSection,
}

/// One side.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SideSection {
    /// Where it is: an address, or `sim:` with faults and options of `sim run`.
    pub target: Option<String>,
    /// Model to ask for; without one the first that it serves.
    pub model: Option<String>,
    /// Command that starts it in the foreground for each run: program and arguments, no shell.
    pub start: Vec<String>,
    /// Command that stops it; without one its processes are told to end. They are ended for sure in either case.
    pub stop: Vec<String>,
    /// Environment variables of its commands.
    pub env: BTreeMap<String, String>,
    /// Address that answers with success once it is ready; without one `/health`.
    pub ready_url: Option<String>,
    /// Seconds that it may take to be ready; 600 without.
    pub ready_timeout_s: Option<f64>,
    /// Seconds that its processes may take to end before they are killed; 10 without.
    pub grace_s: Option<f64>,
}
