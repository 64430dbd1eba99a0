//! How much of the prompts an unlimited cache would have found.

use super::replicas::replicas;
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::{Kind, RunEvidence},
    measurement::{Measurement, Missing, Source, Why},
    prompts::{Content, Prompts},
    unit::Ratio,
};
use std::collections::{BTreeSet, HashSet};

/// Share of the prompts' tokens (or characters) that an earlier prompt of the file begins with: what a cache without limit,
/// on one replica, would have found. Prompts in different namespaces of the cache share nothing. Needs prompts in the order
/// in which they were sent.
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
            let (own_shared, own_all, count) = match &file.item.content {
                Content::Text(texts) => reuse(&keyed(&file.item, texts.iter().map(|text| text.as_bytes()))),
                Content::Tokens(lists) => reuse(&keyed(&file.item, lists.iter().map(Vec::as_slice))),
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

impl PromptReuse {
    /// The share that a server finds that keeps what it computed for `seconds`: an earlier prompt counts where the same
    /// replica got it so long before at most. `None` where rows, times or replicas of the prompts are not known.
    pub fn within(side: &Side<'_>, seconds: f64) -> Option<Measurement<Ratio>> {
        let ([run], [file]) = (side.evidence.runs.as_slice(), side.evidence.prompts.as_slice()) else { return None };
        let rows = file.item.requests.as_ref()?;
        let places = places(run)?;
        let sent = |row: u32| run.requests.0.get(row as usize)?.sent.seconds();
        let at: Vec<(f64, Option<&str>)> =
            rows.iter().map(|row| Some((sent(*row)?, *places.get(*row as usize)?))).collect::<Option<_>>()?;
        let inside: HashSet<usize> = run.window().map(|(row, _)| row).collect();
        let counts: Vec<bool> = rows.iter().map(|row| inside.contains(&(*row as usize))).collect();
        let (shared, all, n) = match &file.item.content {
            Content::Text(texts) => {
                reuse_within(&keyed(&file.item, texts.iter().map(|text| text.as_bytes())), &at, &counts, seconds)
            }
            Content::Tokens(lists) => {
                reuse_within(&keyed(&file.item, lists.iter().map(Vec::as_slice)), &at, &counts, seconds)
            }
        };
        let source = Source::Derived { by: "prompts against those shortly before them".into(), from: Vec::new() };
        (n >= FEWEST && all > 0.0).then(|| Measurement { value: Ratio(shared / all), interval: None, n, source })
    }
}

/// The replica of each row: none has a name where there is one only; `None` where they are several and not told.
fn places(run: &RunEvidence) -> Option<Vec<Option<&str>>> {
    let mut places = vec![None; run.requests.len()];
    for span in &run.spans {
        if let Some(slot) = places.get_mut(span.request as usize) {
            *slot = span.replica.as_deref();
        }
    }
    let one = replicas(std::slice::from_ref(run)) == 1;
    (one || places.iter().any(Option::is_some)).then_some(places)
}

/// A prompt in its namespace.
type Keyed<'p, T> = (Option<u32>, &'p [T]);

fn keyed<'p, T>(of: &Prompts, all: impl Iterator<Item = &'p [T]>) -> Vec<Keyed<'p, T>> {
    let namespace = |at: usize| of.namespaces.as_ref().and_then(|all| all.get(at).copied().flatten());
    all.enumerate().map(|(at, prompt)| (namespace(at), prompt)).collect()
}

/// Shared and all units of prompts, and how many prompts there are.
fn reuse<T: Ord>(prompts: &[Keyed<'_, T>]) -> (f64, f64, u64) {
    let everywhere = vec![(0.0, None); prompts.len()];
    reuse_within(prompts, &everywhere, &vec![true; prompts.len()], f64::INFINITY)
}

/// As [`reuse`], of prompts that `counts`, against those that went to the same place within `seconds` before. The longest
/// beginning that a prompt has in common with any of them is that with a neighbour in sorted order.
fn reuse_within<T: Ord>(
    prompts: &[Keyed<'_, T>],
    at: &[(f64, Option<&str>)],
    counts: &[bool],
    seconds: f64,
) -> (f64, f64, u64) {
    let mut before: BTreeSet<(Option<&str>, Keyed<'_, T>, usize)> = BTreeSet::new();
    let (mut shared, mut all, mut n) = (0, 0, 0);
    let mut oldest = 0;
    for (number, prompt) in prompts.iter().enumerate() {
        let (now, place) = at[number];
        while oldest < number && now - at[oldest].0 > seconds {
            before.remove(&(at[oldest].1, prompts[oldest], oldest));
            oldest += 1;
        }
        let here = (place, *prompt, number);
        if counts[number] {
            let neighbours = [before.range(..here).next_back(), before.range(here..).next()];
            let same = neighbours.into_iter().flatten().filter(|(there, ..)| *there == place);
            shared += same.map(|(_, other, _)| common(other, prompt)).max().unwrap_or(0);
            all += prompt.1.len();
            n += 1;
        }
        before.insert(here);
    }
    (shared as f64, all as f64, n)
}

fn common<T: PartialEq>(one: &Keyed<'_, T>, other: &Keyed<'_, T>) -> usize {
    if one.0 != other.0 {
        return 0;
    }
    one.1.iter().zip(other.1).take_while(|(a, b)| a == b).count()
}
