//! Versions in their order.

use std::cmp::Ordering;

/// The numbers of a version: `v0.10.1rc2+cu128` is 0, 10, 1. None where it does not begin with one.
fn numbers(version: &str) -> Option<Vec<u64>> {
    let version = version.trim().trim_start_matches('v');
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    let numbers: Vec<u64> = version[..end].split('.').map_while(|part| part.parse().ok()).collect();
    (!numbers.is_empty()).then_some(numbers)
}

/// The order of two versions by their numbers; `None` where one has none. What stands behind them (`rc1`, `.post1`,
/// `+cu128`) is not looked at.
pub(crate) fn order(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (numbers(one)?, numbers(other)?);
    let length = one.len().max(other.len());
    let at = |version: &[u64], place: usize| version.get(place).copied().unwrap_or(0);
    (0..length)
        .map(|place| at(&one, place).cmp(&at(&other, place)))
        .find(|order| order.is_ne())
        .or(Some(Ordering::Equal))
}
