//! What prompts of one side have in common, and where they part.

use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::Kind,
    measurement::{Measurement, Missing, Source, Why},
    prompts::Prompts,
    unit::Count,
};

/// How prompts of a side begin. Positions are in the prompts' own units: token ids where they were given, else characters.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptOverlap {
    /// Whether the units are token ids.
    pub tokens: bool,
    /// Median length of what two prompts have in common from their start.
    pub shared: Measurement<Count>,
    /// Median length of what two prompts have in common at their end.
    pub shared_end: f64,
    /// Median length of a prompt.
    pub length: f64,
    /// Of pairs of prompts, the share that agree again soon after they part: text that changes stands inside common text.
    pub rejoin: f64,
    /// What stands where they part, by kind of character; never the text itself. Empty for token ids.
    pub shape: String,
    units: Vec<Vec<u32>>,
}

/// Prompts that are compared at most: each with the one after it.
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
        let pairs: Vec<(&[u32], &[u32])> = units.iter().zip(&units[1..]).map(|(a, b)| (&a[..], &b[..])).collect();
        // A prompt that is asked twice is common with itself to its end and says nothing of the others.
        let pairs: Vec<_> = pairs.iter().copied().filter(|(a, b)| a != b).collect();
        if pairs.is_empty() {
            return Err(Missing::not_exposed("prompts that differ", Kind::Prompts.obtain()));
        }
        let shared = median(pairs.iter().map(|(a, b)| common(a, b)));
        let again = pairs.iter().filter(|(a, b)| rejoins(a, b, tokens)).count();
        let rows = 1..u32::try_from(n + 1).unwrap_or(u32::MAX);
        let source = Source::Lines { path: given.label.clone(), lines: rows };
        Ok(Self {
            tokens,
            shared: Measurement { value: Count(shared), interval: None, n, source },
            shared_end: median(pairs.iter().map(|(a, b)| common_end(a, b))),
            length: median(units.iter().map(Vec::len)),
            rejoin: again as f64 / pairs.len() as f64,
            shape: if tokens { String::new() } else { shape_at(&units[0], shared as usize) },
            units,
        })
    }
}

impl PromptOverlap {
    /// Whether most pairs of prompts agree again soon after they part.
    pub fn mostly_rejoins(&self) -> bool {
        self.rejoin >= 0.5
    }

    /// The name of the units.
    pub fn unit(&self) -> &'static str {
        if self.tokens { "tokens" } else { "characters" }
    }

    /// Where the common beginning of `base` begins in the prompts of this side: the median place over those that hold it;
    /// `None` where fewer than half do.
    pub fn place_of(&self, base: &Self) -> Option<f64> {
        let again = if self.tokens { AGAIN.1 } else { AGAIN.0 };
        let shared = base.shared.value.0 as usize;
        // The very start may hold what every prompt has (a special token): look for the middle of what is common.
        let start = shared.checked_sub(again)? / 2;
        let piece = base.units.first()?.get(start..start + again)?;
        let found = |units: &Vec<u32>| units.windows(again).position(|window| window == piece);
        let places: Vec<usize> = self.units.iter().filter_map(found).collect();
        (places.len() * 2 >= self.units.len()).then(|| median(places.into_iter()) - start as f64)
    }

    /// What the prompts of this side have in common with those of `base`, from their start.
    pub fn shared_with(&self, base: &Self) -> f64 {
        median(self.units.iter().zip(base.units.iter().cycle()).map(|(a, b)| common(a, b)))
    }
}

fn units(prompts: &Prompts) -> (Vec<Vec<u32>>, bool) {
    match prompts {
        Prompts::Text(texts) => (texts.iter().take(MOST).map(|t| t.chars().map(u32::from).collect()).collect(), false),
        Prompts::Tokens(lists) => (lists.iter().take(MOST).cloned().collect(), true),
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
