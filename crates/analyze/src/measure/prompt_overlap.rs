//! What prompts of one side have in common, and where they part.

use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::Kind,
    measurement::{Measurement, Missing, Source, Why},
    prompts::{Content, Prompts},
    unit::Count,
};
use std::collections::{BTreeSet, HashSet};

/// How prompts of a side begin. Positions are in the prompts' own units: token ids where they were given, else characters.
///
/// A prompt is held against the one of the others with which it has most in common, as a prefix cache does: traffic of
/// several templates or tenants has several common beginnings.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptOverlap {
    /// Whether the units are token ids.
    pub tokens: bool,
    /// Median length of what a prompt has in common with another from their start.
    pub shared: Measurement<Count>,
    /// Median length of what a prompt has in common with another at their end.
    pub shared_end: f64,
    /// Median length of a prompt.
    pub length: f64,
    /// Share of the prompts that agree with another again soon after they part: text that changes stands inside common
    /// text.
    pub rejoin: f64,
    /// What stands where they part, by kind of character; never the text itself. Empty for token ids.
    pub shape: String,
    /// Namespaces of the prefix cache in which the prompts are looked up: 1 where all share one. `None`: not told.
    pub namespaces: Option<u64>,
    units: Vec<Vec<u32>>,
}

/// Prompts that are compared at most, each with all others.
const MOST: usize = 100;
/// Fewest prompts that say what all have in common.
const FEWEST: u64 = 3;
/// How far behind the place where two prompts part they may agree again, in characters and in tokens.
const REACH: (usize, usize) = (96, 32);
/// How much must agree again, in characters and in tokens.
const AGAIN: (usize, usize) = (48, 16);

impl Measure for PromptOverlap {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let Some(given) = side.evidence.prompts.first() else {
            return Err(Missing::not_given(Kind::Prompts.name(), Kind::Prompts.obtain()));
        };
        let (units, tokens) = units(&given.item);
        let n = units.len() as u64;
        if n < FEWEST {
            return Err(Missing {
                what: "prompts to compare with each other".into(),
                why: Why::TooFew { have: n, need: FEWEST },
                obtain: Kind::Prompts.obtain().into(),
            });
        }
        // A prompt that is asked twice is common with itself to its end and says nothing of the others.
        let different: BTreeSet<&[u32]> = units.iter().map(Vec::as_slice).collect();
        if different.len() < 2 {
            return Err(Missing::not_exposed("prompts that differ", Kind::Prompts.obtain()));
        }
        let most = |prompt: &[u32], common: fn(&[u32], &[u32]) -> usize| {
            different.iter().filter(|other| **other != prompt).map(|other| common(prompt, other)).max().unwrap_or(0)
        };
        let shared = median(units.iter().map(|prompt| most(prompt, common)));
        let again = |prompt: &&&[u32]| different.iter().any(|o| o != *prompt && rejoins(prompt, o, tokens));
        let rejoin = different.iter().filter(again).count() as f64 / different.len() as f64;
        let rows = 1..u32::try_from(n + 1).unwrap_or(u32::MAX);
        let source = Source::Lines { path: given.label.clone(), lines: rows };
        Ok(Self {
            tokens,
            shared: Measurement { value: Count(shared), interval: None, n, source },
            shared_end: median(units.iter().map(|prompt| most(prompt, common_end))),
            length: median(units.iter().map(Vec::len)),
            rejoin,
            shape: if tokens { String::new() } else { shape_at(&units[0], shared as usize) },
            namespaces: given.item.namespaces.as_ref().map(|all| all.iter().collect::<HashSet<_>>().len() as u64),
            units,
        })
    }
}

impl PromptOverlap {
    /// Whether most prompts agree with another again soon after they part.
    pub fn mostly_rejoins(&self) -> bool {
        self.rejoin >= 0.5
    }

    /// The name of the units.
    pub fn unit(&self) -> &'static str {
        if self.tokens { "tokens" } else { "characters" }
    }

    /// Where a common beginning of `base` begins in the prompts of this side: the median place over those that hold one;
    /// `None` where fewer than half do.
    pub fn place_of(&self, base: &Self) -> Option<f64> {
        let again = if self.tokens { AGAIN.1 } else { AGAIN.0 };
        let shared = base.shared.value.0 as usize;
        // The very start may hold what every prompt has (a special token): look for the middle of what is common.
        let start = shared.checked_sub(again)? / 2;
        let pieces: HashSet<&[u32]> = base.units.iter().filter_map(|units| units.get(start..start + again)).collect();
        let found = |units: &Vec<u32>| units.windows(again).position(|window| pieces.contains(window));
        let places: Vec<usize> = self.units.iter().filter_map(found).collect();
        (places.len() * 2 >= self.units.len()).then(|| median(places.into_iter()) - start as f64)
    }

    /// What a prompt of this side has in common with one of `base` from their start, the median.
    pub fn shared_with(&self, base: &Self) -> f64 {
        let most = |prompt: &Vec<u32>| base.units.iter().map(|other| common(prompt, other)).max().unwrap_or(0);
        median(self.units.iter().map(most))
    }
}

fn units(prompts: &Prompts) -> (Vec<Vec<u32>>, bool) {
    match &prompts.content {
        Content::Text(texts) => (texts.iter().take(MOST).map(|t| t.chars().map(u32::from).collect()).collect(), false),
        Content::Tokens(lists) => (lists.iter().take(MOST).cloned().collect(), true),
    }
}

/// Length of the common beginning.
fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Length of the common end.
fn common_end(a: &[u32], b: &[u32]) -> usize {
    a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Whether two prompts agree again soon after they part.
fn rejoins(a: &[u32], b: &[u32], tokens: bool) -> bool {
    let (reach, again) = if tokens { (REACH.1, AGAIN.1) } else { (REACH.0, AGAIN.0) };
    let at = common(a, b);
    (0..=reach).any(|i| {
        let Some(piece) = a.get(at + i..at + i + again) else { return false };
        (0..=reach).any(|j| b.get(at + j..at + j + again) == Some(piece))
    })
}

/// Kinds of the characters around a place: digits as 0, letters as a, the rest as it is only where it is punctuation.
fn shape_at(units: &[u32], at: usize) -> String {
    let around = &units[at.saturating_sub(4).min(units.len())..(at + 20).min(units.len())];
    let kind = |unit: &u32| match char::from_u32(*unit) {
        Some(c) if c.is_ascii_digit() => '0',
        Some(c) if c.is_alphabetic() => 'a',
        Some(c) if c.is_ascii_punctuation() => c,
        _ => ' ',
    };
    around.iter().map(kind).collect()
}

fn median(values: impl Iterator<Item = usize>) -> f64 {
    let mut values: Vec<usize> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).map_or(0.0, |value| *value as f64)
}
