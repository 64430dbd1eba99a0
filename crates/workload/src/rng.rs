//! One seed, independent streams: changing how many numbers one purpose draws leaves the others as they were.

use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What random numbers are drawn for; each has its own stream of the one seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Gaps between arrivals.
    Arrivals = 1,
    /// Prompt lengths.
    Input = 2,
    /// Output lengths.
    Output = 3,
    /// Whether a request shares a prefix, and which.
    Prefix = 4,
    /// How many turns a session has.
    Turns = 5,
    /// Think times.
    Think = 6,
}

/// The stream of `seed` for one purpose.
pub(crate) fn stream(seed: u64, purpose: Purpose) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(purpose as u64);
    rng
}

/// What the words of a piece of prompt text stand for; pieces of different kinds never share a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PieceKind {
    /// The unshared part of the prompt of a row.
    Own = 1,
    /// The shared prefix of a group.
    Prefix = 2,
    /// The answer that stands in the history of later turns.
    Answer = 3,
    /// A block of a trace, known by its hash id.
    Block = 4,
}

/// Seed of a piece: a hash, so that it does not depend on how many pieces came before.
pub(crate) fn piece_seed(seed: u64, kind: PieceKind, number: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&(kind as u64).to_le_bytes());
    bytes[8..].copy_from_slice(&number.to_le_bytes());
    xxh3_64_with_seed(&bytes, seed)
}
