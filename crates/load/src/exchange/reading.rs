//! Reading one answer: from received bytes to recorded events.

use crate::{
    failure::Failure,
    protocol::answer::{Answer, error_text},
    record::columns::Columns,
    watch_self::Watch,
    wire::{
        bounds::Bounds,
        connection::Bytes,
        error::WireError,
        response::{Head, Piece, Response},
        sse::EventStream,
    },
};
use firstcheck_model::{event::Event, moment::Moment, request::Fate};

/// What the body is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Events,
    /// Kept as a whole: an answer that was not streamed, or the text of an error.
    Whole,
}

/// Where a read belongs and when it was made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Read {
    pub row: u32,
    pub now_ns: i64,
    pub sent_ns: i64,
    /// Unix time of the run's moment 0, to map the kernel's stamp.
    pub wall_origin_ns: i64,
}

/// One answer, as far as it has come.
#[repr(C)]
pub(crate) struct Reading {
    body: Body,
    streaming: bool,
    head: Option<Head>,
    response: Response,
    pub tokens_at: TokensAt,
    events: EventStream,
    pub answer: Answer,
    pub first_byte: Moment,
    whole: Vec<u8>,
    body_limit: usize,
}

/// When the first and the last token came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokensAt {
    pub first: Moment,
    pub last: Moment,
}

impl Reading {
    pub fn new(bounds: &Bounds, streaming: bool) -> Self {
        Self {
            response: Response::new(bounds),
            events: EventStream::new(bounds),
            answer: Answer::new(false),
            head: None,
            body: Body::Whole,
            whole: Vec::new(),
            body_limit: bounds.body,
            streaming,
            first_byte: Moment::NEVER,
            tokens_at: TokensAt { first: Moment::NEVER, last: Moment::NEVER },
        }
    }

    /// Has what the next event will be compared with fetched into the cache.
    #[inline]
    pub fn prefetch(&self) {
        self.answer.prefetch();
    }

    /// Whether a byte of the answer has come.
    pub fn has_started(&self) -> bool {
        self.first_byte.reached()
    }

    /// Whether the connection may carry another request after this answer.
    pub fn keeps_alive(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.keep_alive)
    }

    /// Takes in one read; true when the answer is complete.
    ///
    /// The kernel's stamp belongs to the last byte of the read, so it goes to the last event that ended in it.
    pub fn feed(
        &mut self,
        bytes: &Bytes<'_>,
        at: Read,
        columns: &mut Columns,
        watch: &mut Watch,
    ) -> Result<bool, Failure> {
        if !self.response.has_started() && !bytes.data.is_empty() {
            self.first_byte = Moment::at(at.now_ns);
        }
        let mark = columns.mark();
        let outcome = self.pieces(bytes.data, at, columns);
        let events = (columns.mark() - mark) as u64;
        if events > 0 {
            if let Some(unix_ns) = bytes.kernel_ns {
                columns.stamp(mark, unix_ns - at.wall_origin_ns - at.sent_ns);
            }
            watch.read(events);
            columns.flush_if_many();
        }
        let complete = outcome?;
        if !complete && bytes.closed {
            self.response.close()?;
            self.finish(at, columns)?;
            return Ok(true);
        }
        Ok(complete)
    }

    fn pieces(&mut self, mut input: &[u8], at: Read, columns: &mut Columns) -> Result<bool, Failure> {
        while let Some(piece) = self.response.next(&mut input)? {
            match piece {
                Piece::Head(head) => {
                    let streamed = self.streaming && head.status == 200 && head.event_stream;
                    self.body = if streamed { Body::Events } else { Body::Whole };
                    self.head = Some(head);
                }
                Piece::Body(mut data) if self.body == Body::Events => {
                    while let Some(event) = self.events.next(&mut data)? {
                        Self::record(&mut self.answer, &mut self.tokens_at, event, at, columns)?;
                    }
                }
                Piece::Body(data) => {
                    if self.whole.len() + data.len() > self.body_limit {
                        return Err(WireError::BodyTooLarge { limit: self.body_limit }.into());
                    }
                    self.whole.extend_from_slice(data);
                }
                Piece::End => {
                    // Bytes that nobody asked for: whatever comes next on this connection cannot be told apart.
                    if let Some(head) = self.head.as_mut().filter(|_| !input.is_empty()) {
                        head.keep_alive = false;
                    }
                    self.finish(at, columns)?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Reads one event and records it.
    #[inline]
    fn record(
        answer: &mut Answer,
        tokens_at: &mut TokensAt,
        data: &[u8],
        at: Read,
        columns: &mut Columns,
    ) -> Result<(), Failure> {
        let tokens = answer.event(data)?.tokens;
        let event = Event { request: at.row, since_sent_ns: at.now_ns - at.sent_ns, tokens, kernel_ns: None };
        columns.event(event);
        if event.bears_tokens() {
            if !tokens_at.first.reached() {
                tokens_at.first = Moment::at(at.now_ns);
            }
            tokens_at.last = Moment::at(at.now_ns);
        }
        Ok(())
    }

    /// The body has ended in good order: is it an answer?
    fn finish(&mut self, at: Read, columns: &mut Columns) -> Result<(), Failure> {
        let status = self.head.as_ref().map_or(0, |head| head.status);
        if status != 200 {
            return Err(Failure::status(status, &error_text(&self.whole)));
        }
        if self.body == Body::Whole {
            self.answer.whole(&self.whole)?;
            self.whole = Vec::new();
            if self.streaming {
                let detail = "a stream was asked for, the answer came whole";
                return Err(Failure::new(Fate::Failed, "not streamed", detail));
            }
            return Ok(());
        }
        if let Some(event) = self.events.finish()? {
            Self::record(&mut self.answer, &mut self.tokens_at, event, at, columns)?;
        }
        Ok(())
    }

    /// What is to be said of an answer that came to its end, if anything: it may be cut off all the same.
    pub fn shortfall(&self, forced: Option<u32>) -> Option<Failure> {
        let cut = |name, detail: String| Some(Failure::new(Fate::Truncated, name, detail));
        if !self.answer.is_done() {
            return cut("no [DONE]", "the stream ended without it".to_owned());
        }
        if self.answer.finish().is_none() {
            return cut("no finish reason", String::new());
        }
        match (forced, self.answer.usage().completion_tokens) {
            (Some(asked), Some(got)) if got < asked => cut("short", format!("{got} of {asked} forced tokens")),
            _ => None,
        }
    }
}
