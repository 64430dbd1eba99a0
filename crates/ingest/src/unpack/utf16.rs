//! Text in UTF-16 with its mark, as `>` of PowerShell writes it, turned into UTF-8.

use std::io::{self, BufRead, BufReader, Read};

/// The order of a unit's two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The low one first.
    Little,
    /// The high one first.
    Big,
}

/// The order that the mark at the start tells, where the text that follows it is UTF-16.
pub(super) fn order(head: &[u8]) -> Option<Order> {
    match head {
        // The mark of UTF-32.
        [0xff, 0xfe, 0, 0, ..] => None,
        [0xff, 0xfe, ..] => Some(Order::Little),
        [0xfe, 0xff, ..] => Some(Order::Big),
        _ => None,
    }
}

/// Reads text as UTF-8, without its mark. Half a pair of units becomes the sign for what cannot be read.
pub(super) struct Utf8<R> {
    source: BufReader<R>,
    order: Order,
    /// A unit that waits for its other half.
    high: Option<u16>,
    /// What was turned and not yet taken: `turned[taken..]`.
    turned: Vec<u8>,
    taken: usize,
    begun: bool,
}

impl<R: Read> Utf8<R> {
    pub(super) fn new(source: R, order: Order) -> Self {
        Self { source: BufReader::new(source), order, high: None, turned: Vec::new(), taken: 0, begun: false }
    }

    fn unit(&self, pair: [u8; 2]) -> u16 {
        match self.order {
            Order::Little => u16::from_le_bytes(pair),
            Order::Big => u16::from_be_bytes(pair),
        }
    }

    /// Turns what the source has at hand; `false` at its end.
    fn more(&mut self) -> io::Result<bool> {
        self.taken = 0;
        self.turned.clear();
        let held = self.source.fill_buf()?;
        let units: Vec<[u8; 2]> = match held.len() {
            0 => return Ok(self.end()),
            1 => {
                let mut pair = [0; 2];
                self.source.read_exact(&mut pair)?;
                vec![pair]
            }
            _ => {
                let pairs: Vec<[u8; 2]> = held.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
                self.source.consume(2 * pairs.len());
                pairs
            }
        };
        let units: Vec<u16> =
            self.high.take().into_iter().chain(units.into_iter().map(|pair| self.unit(pair))).collect();
        let cut = units.len() - usize::from(units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)));
        self.high = units.get(cut).copied();
        for sign in char::decode_utf16(units[..cut].iter().copied()) {
            let sign = sign.unwrap_or(char::REPLACEMENT_CHARACTER);
            if self.begun || sign != '\u{feff}' {
                self.turned.extend_from_slice(sign.encode_utf8(&mut [0; 4]).as_bytes());
            }
            self.begun = true;
        }
        Ok(true)
    }

    /// A half that nothing follows; whether there is one.
    fn end(&mut self) -> bool {
        let half = self.high.take().is_some();
        if half {
            self.turned.extend_from_slice(char::REPLACEMENT_CHARACTER.encode_utf8(&mut [0; 4]).as_bytes());
        }
        half
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.turned.len() {
            if !self.more()? {
                return Ok(0);
            }
        }
        let count = into.len().min(self.turned.len() - self.taken);
        into[..count].copy_from_slice(&self.turned[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}
