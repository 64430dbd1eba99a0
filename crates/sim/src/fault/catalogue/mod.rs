//! All faults, by the family of their symptoms.

mod first_token;
mod memory;
mod numbers;
mod outputs;
mod speed;
mod stream;

use super::FaultSpec;

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
