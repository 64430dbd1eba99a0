//! Chained hashes of full blocks.

use std::hash::{BuildHasherDefault, Hasher};

/// Identity of a full block's content and of everything before it.
///
/// An engine uses a cryptographic hash so that users cannot forge one another's blocks; here 64 well-mixed bits tell
/// blocks apart: with 10⁵ blocks the chance of any collision is below 10⁻⁹.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockHash(pub u64);

/// The hash before the first block.
pub const ROOT: BlockHash = BlockHash(0x51_7c_c1_b7_27_22_0a_95);

/// Hash of a block of `tokens` after the block with hash `parent`. Two tokens are taken at a time: a step waits for the
/// one before it.
pub fn chain(parent: BlockHash, tokens: &[u32]) -> BlockHash {
    let (pairs, rest) = tokens.as_chunks::<2>();
    let join = |hash: u64, pair: u64| (hash.rotate_left(5) ^ pair).wrapping_mul(FACTOR);
    let hash = pairs.iter().fold(parent.0, |hash, [a, b]| join(hash, u64::from(*a) | u64::from(*b) << 32));
    BlockHash(mix(rest.iter().fold(hash, |hash, token| join(hash, u64::from(*token)))))
}

/// Spreads low bits upwards (the golden ratio of 2⁶⁴).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// One step of a running hash over tokens.
pub fn step(hash: u64, token: u32) -> u64 {
    (hash.rotate_left(5) ^ u64::from(token)).wrapping_mul(FACTOR)
}

/// Spreads every input bit over all output bits (the finaliser of SplitMix64).
pub fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Hashes of blocks are mixed already: a map keyed by them needs no second hash.
#[derive(Debug, Clone, Copy, Default)]
pub struct AlreadyMixed(u64);

impl Hasher for AlreadyMixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| step(hash, u32::from(*byte)));
    }

    fn write_u64(&mut self, bits: u64) {
        self.0 = bits;
    }
}

/// Hasher of maps keyed by block hashes.
pub type BuildAlreadyMixed = BuildHasherDefault<AlreadyMixed>;
