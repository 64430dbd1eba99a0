//! Lines of a source, numbered, with a bound on their length.

use super::Reading;
use crate::error::{Error, Place};
use std::io::{BufRead, Read};

/// Longest line in bytes: a request body of a million tokens fits well.
const LONGEST: u64 = 64 << 20;

/// A line that is not blank.
pub(super) struct Line<'a> {
    pub(super) place: Place,
    /// Trimmed, or what is wrong with it.
    pub(super) text: Result<&'a str, String>,
}

/// The lines of a source that are not blank.
pub(super) struct Lines<'a> {
    source: &'a mut dyn BufRead,
    bytes: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(source: &'a mut dyn BufRead) -> Self {
        Self { source, bytes: Vec::new(), number: 0 }
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, Error> {
        loop {
            self.number += 1;
            let place = Place::Line(self.number);
            self.bytes.clear();
            let read = (&mut *self.source).take(LONGEST + 1).read_until(b'\n', &mut self.bytes);
            let length = read.map_err(|error| Error::Unreadable { place, error })?;
            if length == 0 {
                return Ok(None);
            }
            if length as u64 > LONGEST {
                // Where the line ends is not known, so that it cannot be left out either.
                return Err(Error::Malformed { place, reason: format!("longer than {LONGEST} bytes") });
            }
            if !self.bytes.trim_ascii().is_empty() {
                break;
            }
        }
        let text = str::from_utf8(&self.bytes).map_err(|_| "not UTF-8".to_owned());
        let text = text.map(|text| text.trim_start_matches('\u{feff}').trim());
        Ok(Some(Line { place: Place::Line(self.number), text }))
    }

    /// Reads one row from each line, until `reading` is full or the source ends.
    pub(super) fn read_rows<T>(
        mut self,
        reading: &mut Reading<T>,
        mut parse: impl FnMut(&str) -> Result<T, String>,
    ) -> Result<(), Error> {
        while !reading.full() {
            let Some(line) = self.next()? else { break };
            reading.take(line.place, line.text.and_then(&mut parse))?;
        }
        Ok(())
    }
}
