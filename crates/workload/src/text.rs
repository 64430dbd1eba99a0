//! Words of prompts: a vocabulary of short common words, and the token ids that stand for them.
//!
//! Throughout this crate one word is one token. The vocabulary's words, each with the space before it, are one token in
//! common byte-pair vocabularies, so that a prompt of *n* words is *n* tokens long on a real server, too, but for the
//! few tokens of its chat template. For text that was given rather than generated it is an estimate.

use std::{collections::HashMap, sync::LazyLock};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Words in the vocabulary; their ids are `0..VOCABULARY`.
pub const VOCABULARY: u32 = 1024;

/// Bits of a vocabulary id.
const BITS: u32 = VOCABULARY.trailing_zeros();
/// Ids cut from one 64-bit hash.
const IDS_A_HASH: u64 = (u64::BITS / BITS) as u64;

static WORDS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| include_str!("vocabulary.txt").split_ascii_whitespace().collect());
static IDS: LazyLock<HashMap<&'static str, u32>> = LazyLock::new(|| WORDS.iter().copied().zip(0..VOCABULARY).collect());

/// The word with this id, if the vocabulary holds it.
pub fn word(id: u32) -> Option<&'static str> {
    WORDS.get(usize::try_from(id).ok()?).copied()
}

/// The id of a word of the vocabulary.
pub fn word_id(word: &str) -> Option<u32> {
    IDS.get(word).copied()
}

/// The id of any word: its own if the vocabulary holds it, else a hash above all vocabulary ids.
pub fn token_id(word: &str) -> u32 {
    word_id(word).unwrap_or_else(|| {
        let above = u64::from(u32::MAX - VOCABULARY);
        // The remainder is below `above`, which fits.
        VOCABULARY + (xxh3_64(word.as_bytes()) % above) as u32
    })
}

/// Appends the ids of the words of `text`, split at white space.
pub fn write_token_ids(text: &str, out: &mut Vec<u32>) {
    out.extend(text.split_whitespace().map(token_id));
}

/// Words in `text`, split at white space.
pub fn count_words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

/// Appends the words of `ids`, joined by spaces. An id outside the vocabulary, which no word has, is written as its
/// number in angle brackets.
pub fn render(ids: impl IntoIterator<Item = u32>, out: &mut String) {
    for (at, id) in ids.into_iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        match word(id) {
            Some(word) => out.push_str(word),
            None => out.push_str(&format!("<{id}>")),
        }
    }
}

/// The ids of the first `tokens` words drawn from `seed`: a shorter piece of the same seed is a prefix of a longer one.
pub fn word_ids(seed: u64, tokens: u32) -> WordIds {
    WordIds { seed, at: 0, end: u64::from(tokens), bits: 0 }
}

/// Iterator of [`word_ids`].
///
/// Word *i* is cut from the hash of *i* / 6 under the seed. A hash of a counter rather than a generator, because a
/// piece is begun for each block of each request: there is no state to set up.
#[derive(Debug, Clone)]
pub struct WordIds {
    seed: u64,
    at: u64,
    end: u64,
    bits: u64,
}

impl WordIds {
    /// The hash from which the next word is cut, less what is cut from it already, and how many words those are.
    fn hash_at(&self) -> (u64, u64) {
        let (number, cut) = (self.at / IDS_A_HASH, self.at % IDS_A_HASH);
        (xxh3_64_with_seed(&number.to_le_bytes(), self.seed) >> (cut * u64::from(BITS)), cut)
    }
}

impl Iterator for WordIds {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.at == self.end {
            return None;
        }
        if self.at.is_multiple_of(IDS_A_HASH) {
            (self.bits, _) = self.hash_at();
        }
        let id = (self.bits & u64::from(VOCABULARY - 1)) as u32;
        self.bits >>= BITS;
        self.at += 1;
        Some(id)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        (left, Some(left))
    }

    /// Hash by hash: most words come from the one before them.
    fn fold<B, F: FnMut(B, u32) -> B>(mut self, init: B, mut take: F) -> B {
        let mut all = init;
        while self.at < self.end {
            let (mut bits, cut) = self.hash_at();
            let words = (IDS_A_HASH - cut).min(self.end - self.at);
            for _ in 0..words {
                all = take(all, (bits & u64::from(VOCABULARY - 1)) as u32);
                bits >>= BITS;
            }
            self.at += words;
        }
        all
    }
}

impl ExactSizeIterator for WordIds {}
