//! All checks, sorted by code. Explicit: fixed order, easy to find, no linker magic.

use crate::{checks::memory::constant_preemption::CONSTANT_PREEMPTION, declare::Check};

/// Every check there is, sorted by code.
pub static CHECKS: &[&Check] = &[&CONSTANT_PREEMPTION];

/// The check of that code (`S15`, whatever its case) or slug.
pub fn by_code_or_slug(name: &str) -> Option<&'static Check> {
    CHECKS.iter().copied().find(|c| c.code.eq_ignore_ascii_case(name) || c.slug == name)
}

/// The check of that slug.
pub fn by_slug(slug: &str) -> Option<&'static Check> {
    CHECKS.iter().copied().find(|c| c.slug == slug)
}
