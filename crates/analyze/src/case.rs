//! What a check is handed: the side in question, the base if there is one, and the parameters in force.

use crate::{settings::Settings, side::Side};

/// One question to all checks.
pub struct Case<'c> {
    /// The side in question.
    pub side: &'c Side<'c>,
    /// What it is compared with, if anything.
    pub base: Option<&'c Side<'c>>,
    /// Parameters as configured.
    pub settings: &'c Settings,
}
