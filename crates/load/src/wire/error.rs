//! What can be wrong with the bytes of an answer.

/// Why the bytes of an answer could not be read.
///
/// Each variant is a named failure of one request; none of them ends a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The first bytes are not those of an HTTP/1 answer.
    #[error("the answer does not start with HTTP/1 but with {start:?}")]
    NotHttp {
        /// The first bytes, lossily decoded.
        start: String,
    },
    /// Status line and headers exceed the limit.
    #[error("the answer's head is longer than {limit} bytes")]
    HeadTooLarge {
        /// The limit in force, in bytes.
        limit: usize,
    },
    /// Status line or a header does not parse.
    #[error("the answer's head does not parse: {reason}")]
    BadHead {
        /// What the parser said.
        reason: String,
    },
    /// The body comes in a coding that was not asked for.
    #[error("the answer uses the {header} {coding:?}, which was not asked for")]
    UnsupportedCoding {
        /// `transfer-encoding` or `content-encoding`.
        header: &'static str,
        /// The coding as the server named it.
        coding: String,
    },
    /// The chunked transfer coding is broken.
    #[error("bad chunk: {reason}")]
    BadChunk {
        /// What was expected and what stood there.
        reason: String,
    },
    /// One line of the event stream exceeds the limit.
    #[error("a line of the event stream is longer than {limit} bytes")]
    LineTooLong {
        /// The limit in force, in bytes.
        limit: usize,
    },
    /// The `data` lines of one event exceed the limit.
    #[error("an event is longer than {limit} bytes")]
    EventTooLarge {
        /// The limit in force, in bytes.
        limit: usize,
    },
    /// A body that is not an event stream exceeds the limit.
    #[error("the answer's body is longer than {limit} bytes")]
    BodyTooLarge {
        /// The limit in force, in bytes.
        limit: usize,
    },
    /// The connection ended before the answer did.
    #[error("the connection was closed before the answer was complete")]
    ClosedEarly,
}

impl WireError {
    /// A short stable name to count this failure by.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotHttp { .. } => "not http",
            Self::HeadTooLarge { .. } => "head too large",
            Self::BadHead { .. } => "bad head",
            Self::UnsupportedCoding { .. } => "unsupported coding",
            Self::BadChunk { .. } => "bad chunk",
            Self::LineTooLong { .. } => "line too long",
            Self::EventTooLarge { .. } => "event too large",
            Self::BodyTooLarge { .. } => "body too large",
            Self::ClosedEarly => "closed early",
        }
    }
}
