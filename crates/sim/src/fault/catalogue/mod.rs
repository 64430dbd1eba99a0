//! All faults, by the family of their symptoms.

mod first_token;
mod memory;
mod numbers;
mod outputs;
mod speed;
mod stream;

use super::{FaultSpec, Param, param};

/// The prompts of others that are long.
const LONG: Param = param(
    "prompt_tokens",
    "tokens",
    [2000.0, 4000.0, 7000.0],
    [1.0, 1e6],
    "length of the long prompts that others send",
);

/// The families in the order of their symptoms.
const FAMILIES: [&[FaultSpec]; 10] = [
    first_token::FAULTS,
    stream::FAULTS,
    memory::FAULTS,
    speed::FAULTS,
    outputs::MIGRATION,
    outputs::NUMERICS,
    outputs::ROLLOUTS,
    outputs::VERIFICATION,
    outputs::DRAWS,
    numbers::FAULTS,
];

/// All faults, family by family.
pub fn catalogue() -> impl Iterator<Item = &'static FaultSpec> {
    FAMILIES.iter().copied().flatten()
}

/// The fault of that name.
pub fn find(slug: &str) -> Option<&'static FaultSpec> {
    catalogue().find(|spec| spec.slug == slug)
}
