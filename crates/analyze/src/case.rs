//! What a check is handed: the side in question, the base if there is one, and the parameters in force.

use crate::{settings::Settings, side::Side};
use firstcheck_model::measurement::Missing;

/// One question to all checks. The window is that of each run ([`firstcheck_model::run::RunInfo::window`]): measurements
/// look inside it.
pub struct Case<'c> {
    /// The side in question.
    pub side: &'c Side<'c>,
    /// What it is compared with, if anything: another side, or the same before its onset ([`crate::onset`]).
    pub base: Option<&'c Side<'c>>,
    /// Parameters as configured.
    pub settings: &'c Settings,
}

impl<'c> Case<'c> {
    /// The base, for a cause that is told by a difference in `what`.
    ///
    /// # Errors
    /// Without a base.
    pub fn base_for(&self, what: &str) -> Result<&'c Side<'c>, Missing> {
        self.base.ok_or_else(|| {
            Missing::not_given(format!("{what} of the base"), "firstcheck compare --base RUN --candidate RUN")
        })
    }
}
