//! The chunked transfer coding, decoded without copying (RFC 9112, section 7.1).

use super::error::WireError;

/// Longest accepted chunk extension or trailer section, in bytes: nobody needs them, so they are skipped, but not for ever.
const SKIPPED_LIMIT: u32 = 16 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerLine,
    TrailerLf,
    EndLf,
    Done,
}

/// Decodes the chunked transfer coding: bytes in, slices of the body out.
#[derive(Debug)]
pub struct Chunked {
    state: State,
    /// Bytes of the present chunk that are still to come; while the size is read, the size so far.
    left: u64,
    digits: u8,
    skipped: u32,
}

impl Default for Chunked {
    fn default() -> Self {
        Self { state: State::Size, left: 0, digits: 0, skipped: 0 }
    }
}

impl Chunked {
    /// Whether the last chunk and its trailer have been read.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The next slice of the body in `input`, which is advanced past what was read.
    ///
    /// `None` means that `input` is used up or the body has ended ([`Self::is_done`]); what follows the body is left in `input`.
    ///
    /// # Errors
    /// [`WireError::BadChunk`] when the bytes break the coding.
    #[inline]
    pub fn next<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<&'i [u8]>, WireError> {
        loop {
            if self.state == State::Data {
                if input.is_empty() {
                    return Ok(None);
                }
                let take = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
                let (data, rest) = input.split_at(take);
                *input = rest;
                self.left -= take as u64;
                if self.left == 0 {
                    self.state = State::DataCr;
                }
                return Ok(Some(data));
            }
            if self.state == State::Done {
                return Ok(None);
            }
            let Some((&byte, rest)) = input.split_first() else { return Ok(None) };
            *input = rest;
            self.step(byte)?;
        }
    }

    #[inline]
    fn step(&mut self, byte: u8) -> Result<(), WireError> {
        self.state = match (self.state, byte) {
            (State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => self.digit(byte)?,
            (State::Size, b'\r') if self.digits > 0 => State::SizeLf,
            (State::Size, b';' | b' ' | b'\t') if self.digits > 0 => State::Extension,
            (State::Extension, b'\r') => State::SizeLf,
            (State::Extension, _) => self.skip(State::Extension, "chunk extension")?,
            (State::SizeLf, b'\n') => {
                self.digits = 0;
                self.skipped = 0;
                if self.left == 0 { State::TrailerStart } else { State::Data }
            }
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size,
            (State::TrailerStart, b'\r') => State::EndLf,
            (State::TrailerStart | State::TrailerLine, _) => {
                if byte == b'\r' {
                    State::TrailerLf
                } else {
                    self.skip(State::TrailerLine, "trailer")?
                }
            }
            (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::EndLf, b'\n') => State::Done,
            (state, byte) => return Err(unexpected(state, byte)),
        };
        Ok(())
    }

    fn digit(&mut self, byte: u8) -> Result<State, WireError> {
        let value = match byte {
            b'0'..=b'9' => byte - b'0',
            _ => (byte | 0x20) - b'a' + 10,
        };
        self.digits += 1;
        // Sixteen hexadecimal digits fill 64 bits; more would overflow.
        if self.digits > 16 {
            return Err(WireError::BadChunk { reason: "a chunk size of more than 16 digits".to_owned() });
        }
        self.left = self.left << 4 | u64::from(value);
        Ok(State::Size)
    }

    fn skip(&mut self, state: State, what: &str) -> Result<State, WireError> {
        self.skipped += 1;
        if self.skipped > SKIPPED_LIMIT {
            return Err(WireError::BadChunk { reason: format!("a {what} of more than {SKIPPED_LIMIT} bytes") });
        }
        Ok(state)
    }
}

fn unexpected(state: State, byte: u8) -> WireError {
    let expected = match state {
        State::Size => "a hexadecimal chunk size",
        State::SizeLf => "a line feed after the chunk size",
        State::DataCr | State::DataLf => "a line end after the chunk's data",
        State::TrailerLf | State::EndLf => "a line feed in the trailer",
        State::Extension | State::Data | State::TrailerStart | State::TrailerLine | State::Done => "other bytes",
    };
    WireError::BadChunk { reason: format!("expected {expected}, found {:?}", char::from(byte)) }
}
