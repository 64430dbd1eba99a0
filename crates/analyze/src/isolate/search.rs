//! Bisection of a list in which some versions cannot be told.

use firstcheck_model::isolation::Stand;
use std::collections::BTreeMap;

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Judge this version, by its place from 0.
    Judge(usize),
    /// The first bad one is among these, by their places from 0; one: it is that.
    Among(Vec<usize>),
}

/// What to do next in a list of `versions`, of which the first is good and the last bad.
///
/// # Example: a version that cannot be told is gone round
/// ```
/// use firstcheck_analyze::isolate::{Next, next};
/// use firstcheck_model::isolation::Stand;
/// use std::collections::BTreeMap;
/// assert_eq!(next(5, &BTreeMap::new()), Next::Judge(2));
/// assert_eq!(next(5, &BTreeMap::from([(2, Stand::Unknown)])), Next::Judge(1));
/// assert_eq!(next(5, &BTreeMap::from([(2, Stand::Unknown), (1, Stand::Good), (3, Stand::Bad)])), Next::Among(vec![2, 3]));
/// ```
pub fn next(versions: usize, known: &BTreeMap<usize, Stand>) -> Next {
    let last = versions.saturating_sub(1);
    let of = |stand: Stand| known.iter().filter(move |(_, known)| **known == stand).map(|(at, _)| *at);
    let bad = of(Stand::Bad).min().unwrap_or(last);
    // A good one after a bad one is no border: the list is not in order there, and the first bad one is looked for.
    let good = of(Stand::Good).filter(|at| *at < bad).max().unwrap_or(0);
    let middle = good + (bad - good) / 2;
    let open = (good + 1..bad).filter(|at| !known.contains_key(at));
    match open.min_by_key(|at| (at.abs_diff(middle), *at)) {
        Some(at) => Next::Judge(at),
        None => Next::Among((good + 1..=bad).collect()),
    }
}
