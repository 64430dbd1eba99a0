//! Which blocks hold which content.

use super::{
    hash::{BlockHash, BuildAlreadyMixed},
    pool::BlockId,
};
use std::collections::HashMap;

/// Blocks by the hash of their content. Two requests that compute the same block at the same time leave two blocks
/// under one hash: both stay, the first is the one that is found.
///
/// Every block of every prompt is entered once and removed once, and each time its place is far from the last one in
/// memory. So this is a table of its own, open and probed in line, in which a hash and its block lie side by side: one
/// access to memory where the standard map takes two.
#[derive(Debug, Clone, Default)]
pub struct PrefixIndex {
    /// A power of two of places, at most half of them taken; or none at all.
    places: Vec<Place>,
    len: usize,
    /// All blocks of the hashes that have more than one.
    shared: HashMap<BlockHash, Vec<BlockId>, BuildAlreadyMixed>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    hash: BlockHash,
    /// The block that is found; 0, the block that is never handed out: nothing is here.
    block: BlockId,
    /// Whether there are others.
    shared: bool,
}

const EMPTY: Place = Place { hash: BlockHash(0), block: 0, shared: false };
const FEWEST_PLACES: usize = 64;

impl PrefixIndex {
    /// The block found under a hash.
    pub fn get(&self, hash: BlockHash) -> Option<BlockId> {
        self.find(hash).ok().map(|place| self.places[place].block)
    }

    /// Number of different hashes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is cached.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Every hash with its blocks, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = (BlockHash, &[BlockId])> {
        self.places.iter().filter(|place| place.block != 0).map(|place| {
            let all = self.shared.get(&place.hash).map(Vec::as_slice);
            (place.hash, all.unwrap_or(std::slice::from_ref(&place.block)))
        })
    }

    /// Brings the places of `hashes` near, all at once: one after another each would be waited for.
    pub(super) fn warm(&self, hashes: impl Iterator<Item = BlockHash>) {
        let Some(mask) = self.places.len().checked_sub(1) else { return };
        let read = hashes.fold(0, |read, hash| read ^ self.places[hash.0 as usize & mask].block);
        std::hint::black_box(read);
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn insert(&mut self, hash: BlockHash, block: BlockId) {
        if 2 * (self.len + 1) > self.places.len() {
            self.grow();
        }
        match self.find(hash) {
            Err(free) => {
                self.places[free] = Place { hash, block, shared: false };
                self.len += 1;
            }
            Ok(taken) => {
                let place = &mut self.places[taken];
                place.shared = true;
                self.shared.entry(hash).or_insert_with(|| vec![place.block]).push(block);
            }
        }
    }

    pub(super) fn remove(&mut self, hash: BlockHash, block: BlockId) {
        let Ok(taken) = self.find(hash) else { return };
        let place = &mut self.places[taken];
        if !place.shared {
            if place.block == block {
                self.vacate(taken);
            }
            return;
        }
        let Some(all) = self.shared.get_mut(&hash) else { return };
        all.retain(|held| *held != block);
        if let [first, rest @ ..] = all.as_slice() {
            (place.block, place.shared) = (*first, !rest.is_empty());
        }
        if !place.shared {
            self.shared.remove(&hash);
        }
    }

    /// Where a hash is, or where it would go.
    fn find(&self, hash: BlockHash) -> Result<usize, usize> {
        let Some(mask) = self.places.len().checked_sub(1) else { return Err(0) };
        let mut at = hash.0 as usize & mask;
        loop {
            let place = &self.places[at];
            if place.block == 0 {
                return Err(at);
            }
            if place.hash == hash {
                return Ok(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// Empties a place and closes the gap, so that what was pushed on by it is still found.
    fn vacate(&mut self, mut gap: usize) {
        let mask = self.places.len() - 1;
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let place = self.places[at];
            if place.block == 0 {
                break;
            }
            // How far it is from where it wants to be; it may move back as far as that.
            let pushed = at.wrapping_sub(place.hash.0 as usize) & mask;
            if pushed >= (at.wrapping_sub(gap) & mask) {
                self.places[gap] = place;
                gap = at;
            }
        }
        self.places[gap] = EMPTY;
        self.len -= 1;
    }

    fn grow(&mut self) {
        let size = (2 * self.places.len()).max(FEWEST_PLACES);
        let old = std::mem::replace(&mut self.places, vec![EMPTY; size]);
        for place in old.into_iter().filter(|place| place.block != 0) {
            if let Err(free) = self.find(place.hash) {
                self.places[free] = place;
            }
        }
    }
}
