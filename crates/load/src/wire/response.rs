//! An HTTP/1.1 answer, read from whatever pieces the socket gives.

use super::{bounds::Bounds, chunked::Chunked, error::WireError};

/// Most headers of one answer; httparse wants a fixed table.
const MAX_HEADERS: usize = 128;

/// What the status line and the headers say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The HTTP status.
    pub status: u16,
    /// Whether the body is declared as `text/event-stream`.
    pub event_stream: bool,
    /// Whether the connection may carry a further request.
    pub keep_alive: bool,
}

/// One step of reading an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'i> {
    /// The head is complete.
    Head(Head),
    /// Bytes of the body, without the transfer coding.
    Body(&'i [u8]),
    /// The answer is complete; what is left of the input does not belong to it.
    End,
}

#[derive(Debug)]
enum State {
    /// Boxed, so that a body is read from little memory.
    Head(Box<Partial>),
    Chunked(Chunked),
    Length(u64),
    UntilClose,
    Done,
}

/// A head whose end has not come yet.
#[derive(Debug)]
struct Partial {
    bytes: Vec<u8>,
    limit: usize,
}

/// Reads one answer: bytes in, [`Piece`]s out, no socket.
#[derive(Debug)]
pub struct Response {
    state: State,
}

impl Response {
    /// A reader for an answer to a request that may have a body (anything but HEAD).
    pub fn new(bounds: &Bounds) -> Self {
        Self { state: State::Head(Box::new(Partial { bytes: Vec::new(), limit: bounds.head })) }
    }

    /// Whether a byte of the answer has been seen.
    #[inline]
    pub fn has_started(&self) -> bool {
        match &self.state {
            State::Head(head) => !head.bytes.is_empty(),
            State::Chunked(_) | State::Length(_) | State::UntilClose | State::Done => true,
        }
    }

    /// The next piece of the answer in `input`, which is advanced past what was read; `None` asks for more bytes.
    ///
    /// # Errors
    /// Any [`WireError`] that the head or the transfer coding can show.
    #[inline]
    pub fn next<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<Piece<'i>>, WireError> {
        match &mut self.state {
            State::Head(head) => {
                let Some((head, state)) = head.read(input)? else { return Ok(None) };
                self.state = state;
                Ok(Some(Piece::Head(head)))
            }
            State::Chunked(chunked) => {
                if let Some(data) = chunked.next(input)? {
                    return Ok(Some(Piece::Body(data)));
                }
                Ok(if chunked.is_done() { self.end() } else { None })
            }
            State::Length(0) => Ok(self.end()),
            State::Length(left) => {
                if input.is_empty() {
                    return Ok(None);
                }
                let take = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                let (data, rest) = input.split_at(take);
                *input = rest;
                *left -= take as u64;
                Ok(Some(Piece::Body(data)))
            }
            State::UntilClose if input.is_empty() => Ok(None),
            State::UntilClose => Ok(Some(Piece::Body(std::mem::take(input)))),
            State::Done => Ok(None),
        }
    }

    /// Tells the reader that the connection was closed.
    ///
    /// # Errors
    /// [`WireError::ClosedEarly`] unless the body was of the kind that ends with the connection.
    pub fn close(&mut self) -> Result<(), WireError> {
        match self.state {
            State::UntilClose | State::Done => {
                self.state = State::Done;
                Ok(())
            }
            State::Head(_) | State::Chunked(_) | State::Length(_) => Err(WireError::ClosedEarly),
        }
    }

    fn end<'i>(&mut self) -> Option<Piece<'i>> {
        self.state = State::Done;
        Some(Piece::End)
    }
}

impl Partial {
    /// Takes in what `input` has of the head, which is advanced past it; once complete, gives the head and how to read
    /// what follows.
    fn read(&mut self, input: &mut &[u8]) -> Result<Option<(Head, State)>, WireError> {
        loop {
            let known = self.bytes.len();
            let room = (self.limit + 1).saturating_sub(known).min(input.len());
            self.bytes.extend_from_slice(&input[..room]);
            self.check_start()?;
            let Some(length) = head_length(&self.bytes, known) else {
                if self.bytes.len() > self.limit {
                    return Err(WireError::HeadTooLarge { limit: self.limit });
                }
                *input = &input[room..];
                return Ok(None);
            };
            *input = &input[length - known..];
            self.bytes.truncate(length);
            let (head, state) = parse(&self.bytes)?;
            self.bytes.clear();
            // Informational answers (100 Continue, 103 Early Hints) precede the one that counts.
            if !(100..200).contains(&head.status) {
                return Ok(Some((head, state)));
            }
        }
    }

    /// Fails at the first byte that cannot begin an HTTP/1 answer, rather than waiting for a blank line that never comes.
    fn check_start(&self) -> Result<(), WireError> {
        const START: &[u8] = b"HTTP/1.";
        let seen = self.bytes.len().min(START.len());
        if self.bytes[..seen] == START[..seen] {
            return Ok(());
        }
        let start = String::from_utf8_lossy(&self.bytes[..seen]).into_owned();
        Err(WireError::NotHttp { start })
    }
}

/// Length of the head including its blank line, if the blank line is there; `scanned` bytes were searched before.
fn head_length(bytes: &[u8], scanned: usize) -> Option<usize> {
    // A blank line is a line feed followed by a line end, so it may begin up to two bytes before the new ones.
    let mut from = scanned.saturating_sub(2);
    while let Some(at) = memchr::memchr(b'\n', &bytes[from..]) {
        from += at + 1;
        let rest = &bytes[from..];
        if rest.starts_with(b"\n") {
            return Some(from + 1);
        }
        if rest.starts_with(b"\r\n") {
            return Some(from + 2);
        }
    }
    None
}

fn parse(bytes: &[u8]) -> Result<(Head, State), WireError> {
    let bad = |reason: String| WireError::BadHead { reason };
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Response::new(&mut headers);
    let status = parsed.parse(bytes).map_err(|e| bad(e.to_string()))?;
    let (true, Some(code), Some(version)) = (status.is_complete(), parsed.code, parsed.version) else {
        return Err(bad("the blank line comes before the status line is complete".to_owned()));
    };
    let mut head = Head { status: code, event_stream: false, keep_alive: version == 1 };
    let mut length: Option<u64> = None;
    let mut chunked = false;
    for header in parsed.headers.iter() {
        let value = String::from_utf8_lossy(header.value);
        let value = value.trim();
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("content-length") {
            let parsed = value.parse::<u64>().ok().filter(|_| value.bytes().all(|b| b.is_ascii_digit()));
            let parsed = parsed.ok_or_else(|| bad(format!("content-length {value:?} is not a number")))?;
            if length.is_some_and(|known| known != parsed) {
                return Err(bad("two different content-lengths".to_owned()));
            }
            length = Some(parsed);
        } else if is("transfer-encoding") {
            if !value.eq_ignore_ascii_case("chunked") {
                return Err(WireError::UnsupportedCoding { header: "transfer-encoding", coding: value.to_owned() });
            }
            chunked = true;
        } else if is("content-encoding") {
            if !value.is_empty() && !value.eq_ignore_ascii_case("identity") {
                return Err(WireError::UnsupportedCoding { header: "content-encoding", coding: value.to_owned() });
            }
        } else if is("content-type") {
            head.event_stream = starts_with_ignoring_case(value, "text/event-stream");
        } else if is("connection") {
            let has = |word: &str| value.split(',').any(|token| token.trim().eq_ignore_ascii_case(word));
            head.keep_alive = !has("close") && (head.keep_alive || has("keep-alive"));
        }
    }
    let state = match (chunked, length) {
        _ if matches!(code, 100..=199 | 204 | 304) => State::Length(0),
        // The coding wins over a length (RFC 9112, section 6.3).
        (true, _) => State::Chunked(Chunked::default()),
        (false, Some(length)) => State::Length(length),
        (false, None) => {
            head.keep_alive = false;
            State::UntilClose
        }
    };
    Ok((head, state))
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}
