//! Azure LLM inference traces: CSV with `TIMESTAMP`, `ContextTokens` and `GeneratedTokens`.
//!
//! The traces of 2023 write `2023-11-16 18:17:03.9799600`, those of 2024 add a time zone
//! (`2024-05-10 00:00:00.009930+00:00`); without one a time is taken as UTC. The trace knows lengths only, so that no
//! two prompts share anything.
//!
//! Lines are split at commas here rather than by the `csv` crate: the format quotes nothing, and that crate counts the
//! blank lines before a record only after it, so that errors would name the wrong line.

use super::{
    Reading, Slice, Timed, length,
    lines::{Line, Lines},
};
use crate::{
    error::{Error, Place},
    prompt::{Piece, Prompt},
    rng::{PieceKind, piece_seed},
};
use jiff::{Timestamp, civil::DateTime, tz::Offset};
use std::io::BufRead;

const COLUMNS: [&str; 3] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];

/// Reads an Azure trace; the words of each prompt come from `seed` and the number of its row.
pub(crate) fn read(source: &mut dyn BufRead, slice: Slice, seed: u64) -> Result<Reading<Timed>, Error> {
    let mut lines = Lines::new(source);
    let mut reading = Reading::new(slice);
    let header = lines.next()?.unwrap_or(Line { place: Place::Line(1), text: Ok("") });
    let place = header.place;
    let columns = header.text.and_then(Columns::of).map_err(|reason| Error::Malformed { place, reason })?;
    let mut number = 0;
    lines.read_rows(&mut reading, |line| {
        number += 1;
        columns.row(line, piece_seed(seed, PieceKind::Own, number))
    })?;
    Ok(reading)
}

/// Where the three columns stand.
struct Columns {
    at: [usize; 3],
    count: usize,
}

impl Columns {
    fn of(header: &str) -> Result<Self, String> {
        let names: Vec<&str> = header.split(',').map(str::trim).collect();
        let mut at = [0; 3];
        for (slot, column) in at.iter_mut().zip(COLUMNS) {
            *slot = names.iter().position(|name| *name == column).ok_or_else(|| {
                format!("column {column} is missing: expected the header {}, found `{header}`", COLUMNS.join(","))
            })?;
        }
        Ok(Self { at, count: names.len() })
    }

    fn row(&self, line: &str, seed: u64) -> Result<Timed, String> {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.len() != self.count {
            return Err(format!("{} fields: expected {} as in the header", fields.len(), self.count));
        }
        let tokens = |column: usize| {
            let text = fields[self.at[column]];
            let count = text
                .parse::<u64>()
                .map_err(|_| format!("{} is `{text}`: expected a whole number of tokens", COLUMNS[column]))?;
            length(COLUMNS[column], count)
        };
        let at_ns = nanoseconds(fields[self.at[0]])?;
        let pieces = vec![Piece::Synthetic { seed, tokens: tokens(1)? }];
        Ok(Timed { at_ns, prompt: Prompt::user(pieces), output_tokens: tokens(2)? })
    }
}

/// Nanoseconds since 1970 of a time with or without a zone.
fn nanoseconds(text: &str) -> Result<i64, String> {
    let with_zone = text.parse::<Timestamp>();
    let timestamp = with_zone.or_else(|_| text.parse::<DateTime>().and_then(|civil| Offset::UTC.to_timestamp(civil)));
    timestamp.ok().and_then(|at| i64::try_from(at.as_nanosecond()).ok()).ok_or_else(|| {
        format!("TIMESTAMP is `{text}`: expected `2023-11-16 18:17:03.97996`, with or without a zone as in `+00:00`")
    })
}
