//! Prefixes that requests share.

use crate::{
    distribution::LARGEST,
    error::ParseError,
    notation::{Arguments, as_text, number, whole},
    prompt::Piece,
    rng::{self, PieceKind, Purpose},
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A share of the requests starts with one of several common prefixes.
///
/// The prefix stands in front of the request's own prompt and adds to its length. As text:
/// `groups=4,tokens=1024,share=0.8` (`groups` is 1 and `share` is 1 if not given).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SharedPrefix {
    /// How many different prefixes there are; each is as likely.
    pub groups: u32,
    /// Length of each, in tokens.
    pub tokens: u32,
    /// Share of the requests (or sessions) that start with one, 0 to 1.
    pub share: f64,
}

as_text!(SharedPrefix);

impl FromStr for SharedPrefix {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut arguments = Arguments::parse(text, text);
        let groups = arguments.named("groups").unwrap_or("1");
        let share = arguments.named("share").unwrap_or("1");
        let prefix = Self {
            groups: whole(text, Some(groups), "number of groups", 1, u32::MAX)?,
            tokens: whole(text, arguments.named("tokens"), "length in `tokens`", 1, LARGEST)?,
            share: number(text, Some(share), "share from 0 to 1", |share| (0.0..=1.0).contains(&share))?,
        };
        arguments.finish("`groups=4,tokens=1024,share=0.8`")?;
        Ok(prefix)
    }
}

impl fmt::Display for SharedPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "groups={},tokens={},share={}", self.groups, self.tokens, self.share)
    }
}

/// Draws the prefix of each request in turn.
pub(crate) struct Prefixes {
    shared: Option<SharedPrefix>,
    seed: u64,
    rng: ChaCha8Rng,
}

impl Prefixes {
    /// The prefixes under `seed`; without `shared` there are none.
    pub(crate) fn new(shared: Option<SharedPrefix>, seed: u64) -> Self {
        Self { shared, seed, rng: rng::stream(seed, Purpose::Prefix) }
    }

    /// The prefix of the next request, if it shares one.
    pub(crate) fn draw(&mut self) -> Option<Piece> {
        let shared = self.shared?;
        // Both numbers are drawn for every request, so that another share keeps the groups of those that share.
        let (chance, group) = (self.rng.random::<f64>(), self.rng.random_range(0..shared.groups.max(1)));
        (chance < shared.share).then(|| Piece::Synthetic {
            seed: rng::piece_seed(self.seed, PieceKind::Prefix, u64::from(group)),
            tokens: shared.tokens,
        })
    }
}
