//! How much of the prompts an unlimited cache would have found.

use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::Kind,
    measurement::{Measurement, Missing, Source, Why},
    prompts::Prompts,
    unit::Ratio,
};
use std::collections::BTreeSet;

/// Share of the prompts' tokens (or characters) that an earlier prompt of the file begins with: what a cache without limit,
/// on one replica, would have found. Needs prompts in the order in which they were sent.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptReuse {
    /// That share.
    pub ideal: Measurement<Ratio>,
}

/// Prompts from which it is told.
const FEWEST: u64 = 5;

impl Measure for PromptReuse {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        if let Some(missing) = side.evidence.lacks(Kind::Prompts) {
            return Err(missing);
        }
        let (mut shared, mut all, mut n) = (0.0, 0.0, 0);
        for file in &side.evidence.prompts {
            let (own_shared, own_all, count) = match &file.item {
                Prompts::Text(prompts) => reuse(&prompts.iter().map(|text| text.as_bytes()).collect::<Vec<_>>()),
                Prompts::Tokens(prompts) => reuse(&prompts.iter().map(Vec::as_slice).collect::<Vec<_>>()),
            };
            (shared, all, n) = (shared + own_shared, all + own_all, n + count);
        }
        if n < FEWEST || all <= 0.0 {
            return Err(Missing {
                what: "prompts in the order of their sending".into(),
                why: Why::TooFew { have: n, need: FEWEST },
                obtain: Kind::Prompts.obtain().into(),
            });
        }
        let source = Source::Derived { by: "prompts against those before them".into(), from: Vec::new() };
        Ok(Self { ideal: Measurement { value: Ratio(shared / all), interval: None, n, source } })
    }
}

/// Shared and all units of prompts, and how many prompts. The longest beginning that a prompt has in common with any earlier
/// one is that with a neighbour in sorted order.
fn reuse<T: Ord>(prompts: &[&[T]]) -> (f64, f64, u64) {
    use std::ops::Bound::{Included, Unbounded};
    let mut earlier: BTreeSet<&[T]> = BTreeSet::new();
    let (mut shared, mut all) = (0, 0);
    for prompt in prompts {
        let below = earlier.range::<&[T], _>((Unbounded, Included(*prompt))).next_back();
        let above = earlier.range::<&[T], _>((Included(*prompt), Unbounded)).next();
        shared += below.into_iter().chain(above).map(|other| common(other, prompt)).max().unwrap_or(0);
        all += prompt.len();
        earlier.insert(*prompt);
    }
    (shared as f64, all as f64, prompts.len() as u64)
}

fn common<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}
