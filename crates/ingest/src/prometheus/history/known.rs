//! Lines that were seen before, known by their bytes.

use std::collections::HashMap;

/// What a known line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// A comment that says nothing new.
    Quiet,
    /// A sample of the series with that number.
    Series(u32),
    /// A series that is counted and not held.
    Left,
}

#[derive(Debug)]
struct Line {
    bytes: Box<[u8]>,
    entry: Entry,
    /// The line that followed it last.
    next: u32,
}

/// The lines that were seen, and which followed which.
#[derive(Debug, Default)]
pub(super) struct Known {
    lines: Vec<Line>,
    index: HashMap<Box<[u8]>, u32>,
    /// The line before the one at hand.
    last: Option<u32>,
}

impl Known {
    /// The entry that a line is of, guessed by what followed its predecessor before: of a sample, its number follows.
    pub(super) fn guess<'l>(&mut self, line: &'l [u8]) -> Option<(Entry, &'l [u8])> {
        let next = self.lines.get(self.last? as usize)?.next;
        let known = self.lines.get(next as usize)?;
        let rest = line.strip_prefix(&*known.bytes)?;
        if known.entry == Entry::Quiet && !rest.is_empty() {
            return None;
        }
        self.last = Some(next);
        Some((known.entry, rest))
    }

    /// The entry of a comment, or of what names a sample's series.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<Entry> {
        let found = *self.index.get(bytes)?;
        self.follow(found);
        Some(self.lines[found as usize].entry)
    }

    /// Remembers a line.
    pub(super) fn learn(&mut self, bytes: &[u8], entry: Entry) {
        let new = self.lines.len() as u32;
        self.lines.push(Line { bytes: bytes.into(), entry, next: new + 1 });
        self.index.insert(bytes.into(), new);
        self.follow(new);
    }

    fn follow(&mut self, line: u32) {
        if let Some(last) = self.last {
            self.lines[last as usize].next = line;
        }
        self.last = Some(line);
    }

    /// How many lines are known.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }
}
