//! Mooncake traces: JSONL with `timestamp` (milliseconds), `input_length`, `output_length` and `hash_ids`.
//!
//! Each hash id stands for a block of 512 tokens of the prompt: equal ids are equal blocks. A last block that the prompt
//! does not fill is the start of the block with its id. Other fields are not used.

use super::{Reading, Slice, Timed, in_line, length, lines::Lines};
use crate::{
    error::Error,
    prompt::{Piece, Prompt},
    rng::{PieceKind, piece_seed},
};
use serde::Deserialize;
use std::io::BufRead;

/// Tokens of a block in the published traces.
pub(crate) const BLOCK_TOKENS: u32 = 512;
/// Latest timestamp in milliseconds: a hundred years.
const LATEST_MS: f64 = 100.0 * 365.25 * 86_400e3;

#[derive(Deserialize)]
struct Line {
    timestamp: Option<f64>,
    input_length: Option<u64>,
    output_length: Option<u64>,
    hash_ids: Option<Vec<u64>>,
}

/// Reads a Mooncake trace; the words of each block come from `seed` and its id.
pub(crate) fn read(
    source: &mut dyn BufRead,
    slice: Slice,
    block_tokens: u32,
    seed: u64,
) -> Result<Reading<Timed>, Error> {
    let mut reading = Reading::new(slice);
    Lines::new(source).read_rows(&mut reading, |line| row(line, block_tokens, seed))?;
    Ok(reading)
}

fn row(line: &str, block_tokens: u32, seed: u64) -> Result<Timed, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| in_line(&error))?;
    let timestamp = line.timestamp.ok_or("timestamp is missing: expected milliseconds")?;
    if !(0.0..=LATEST_MS).contains(&timestamp) {
        return Err(format!("timestamp is {timestamp}: expected milliseconds from 0"));
    }
    let input = line.input_length.ok_or("input_length is missing: expected tokens of the prompt")?;
    let input = length("input_length", input)?;
    let output = line.output_length.ok_or("output_length is missing: expected tokens of the answer")?;
    let output_tokens = length("output_length", output)?;
    let ids = line.hash_ids.ok_or_else(|| {
        format!("hash_ids is missing: expected one whole number for each block of {block_tokens} tokens")
    })?;
    let blocks = input.div_ceil(block_tokens) as usize;
    if ids.len() != blocks {
        return Err(format!(
            "hash_ids has {} ids, but input_length {input} is {blocks} blocks of {block_tokens} tokens: expected one id \
             a block (block_tokens sets another size)",
            ids.len()
        ));
    }
    let last = input - (input.div_ceil(block_tokens) - 1) * block_tokens;
    let pieces = ids.iter().enumerate().map(|(at, id)| Piece::Synthetic {
        seed: piece_seed(seed, PieceKind::Block, *id),
        tokens: if at + 1 == blocks { last } else { block_tokens },
    });
    // At most a hundred years in nanoseconds, which fits.
    let at_ns = (timestamp * 1e6).round() as i64;
    Ok(Timed { at_ns, prompt: Prompt::user(pieces.collect()), output_tokens })
}
