//! Server-sent events: lines and events out of the pieces of a body.
//!
//! The rules are those of the HTML standard, section 9.2.6: a line ends with CR, LF or CRLF, an event with an empty
//! line, several `data` lines of an event are joined by a line feed, a line that begins with a colon is a comment.
//! Only `data` is kept: no OpenAI-compatible server says anything in the other fields.

use super::{bounds::Bounds, error::WireError};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads an event stream: bytes in, the `data` of each event out.
///
/// An event that lies wholly in one piece of input is handed out without a copy.
#[derive(Debug)]
pub struct EventStream {
    kept: Box<Kept>,
    /// A line has begun whose end has not come yet.
    has_line: bool,
    has_data: bool,
    /// The data was handed out and is to be forgotten with the next call.
    handed_out: bool,
    /// The last byte was a CR: a LF that follows belongs to it.
    after_cr: bool,
    /// Nothing but a byte order mark may have come before.
    at_start: bool,
    line_limit: usize,
    event_limit: usize,
}

/// What had to be copied, apart from the rest: most events are not, and are read without touching it.
#[derive(Debug, Default)]
struct Kept {
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    /// The data of the present event.
    data: Vec<u8>,
}

impl EventStream {
    /// A reader that keeps no more than `bounds` allow.
    pub fn new(bounds: &Bounds) -> Self {
        Self {
            kept: Box::default(),
            has_line: false,
            has_data: false,
            handed_out: false,
            after_cr: false,
            at_start: true,
            line_limit: bounds.line,
            event_limit: bounds.event,
        }
    }

    /// The data of the next event that ends in `input`, which is advanced past it; `None` asks for more bytes.
    ///
    /// # Errors
    /// [`WireError::LineTooLong`] or [`WireError::EventTooLarge`].
    #[inline]
    pub fn next<'s, 'i: 's>(&'s mut self, input: &mut &'i [u8]) -> Result<Option<&'s [u8]>, WireError> {
        if self.handed_out {
            self.forget();
        }
        // The data of this event while all of it lies in `input`.
        let mut held: Option<&'i [u8]> = None;
        loop {
            if self.after_cr && !input.is_empty() {
                self.after_cr = false;
                *input = input.strip_prefix(b"\n").unwrap_or(input);
            }
            let bytes: &'i [u8] = input;
            let Some(at) = memchr::memchr2(b'\n', b'\r', bytes) else {
                if let Some(data) = held {
                    self.keep(data)?;
                }
                *input = &[];
                self.keep_partial_line(bytes)?;
                return Ok(None);
            };
            self.after_cr = bytes[at] == b'\r';
            *input = &bytes[at + 1..];
            if self.has_line {
                // Only the first line of a piece can have begun before it, so nothing is held yet.
                if self.finish_partial_line(&bytes[..at])? {
                    return Ok(Some(&self.kept.data));
                }
                continue;
            }
            let mut line = &bytes[..at];
            self.check_line(line.len())?;
            if self.at_start {
                self.at_start = false;
                line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
            }
            if line.is_empty() {
                if held.is_some() {
                    return Ok(held);
                }
                if self.has_data {
                    self.handed_out = true;
                    return Ok(Some(&self.kept.data));
                }
            } else if let Some(data) = data_of(line) {
                if held.is_none() && !self.has_data {
                    self.check_event(data.len())?;
                    held = Some(data);
                } else {
                    if let Some(first) = held.take() {
                        self.keep(first)?;
                    }
                    self.keep(data)?;
                }
            }
        }
    }

    /// The data that came without its closing empty line, at the orderly end of the body.
    ///
    /// The standard drops it; servers that leave out the last empty line exist, and what they sent was received.
    ///
    /// # Errors
    /// [`WireError::EventTooLarge`].
    pub fn finish(&mut self) -> Result<Option<&[u8]>, WireError> {
        if self.handed_out {
            self.forget();
        }
        if self.has_line && self.finish_partial_line(b"")? {
            return Ok(Some(&self.kept.data));
        }
        self.handed_out = self.has_data;
        Ok(self.has_data.then_some(&self.kept.data))
    }

    fn forget(&mut self) {
        self.kept.data.clear();
        self.has_data = false;
        self.handed_out = false;
    }

    fn keep_partial_line(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.check_line(self.kept.line.len() + bytes.len())?;
        self.kept.line.extend_from_slice(bytes);
        self.has_line = true;
        Ok(())
    }

    /// Completes the line begun in an earlier piece; true if it ends an event, whose data is then in `self.data`.
    fn finish_partial_line(&mut self, rest: &[u8]) -> Result<bool, WireError> {
        self.keep_partial_line(rest)?;
        let whole = std::mem::take(&mut self.kept.line);
        self.has_line = false;
        let mut line = whole.as_slice();
        if self.at_start {
            self.at_start = false;
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if let Some(data) = data_of(line) {
            self.keep(data)?;
        }
        let ends = line.is_empty() && self.has_data;
        self.handed_out = ends;
        // The allocation serves the next line.
        self.kept.line = whole;
        self.kept.line.clear();
        Ok(ends)
    }

    fn keep(&mut self, data: &[u8]) -> Result<(), WireError> {
        let separator = usize::from(self.has_data);
        self.check_event(self.kept.data.len() + separator + data.len())?;
        if self.has_data {
            self.kept.data.push(b'\n');
        }
        self.kept.data.extend_from_slice(data);
        self.has_data = true;
        Ok(())
    }

    #[inline]
    fn check_line(&self, length: usize) -> Result<(), WireError> {
        if length > self.line_limit {
            return Err(WireError::LineTooLong { limit: self.line_limit });
        }
        Ok(())
    }

    #[inline]
    fn check_event(&self, length: usize) -> Result<(), WireError> {
        if length > self.event_limit {
            return Err(WireError::EventTooLarge { limit: self.event_limit });
        }
        Ok(())
    }
}

/// The value of a `data` field; `None` for comments and other fields.
#[inline]
fn data_of(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"data")?;
    match rest.split_first() {
        None => Some(rest),
        Some((b':', value)) => Some(value.strip_prefix(b" ").unwrap_or(value)),
        Some(_) => None,
    }
}
