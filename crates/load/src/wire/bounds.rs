//! How much one answer may make the client hold.

/// Upper bounds, in bytes, on what is kept of one answer while it is read.
///
/// What exceeds a bound is a named failure of that request, so a hostile server cannot make memory grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Status line and headers together.
    pub head: usize,
    /// One line of an event stream.
    pub line: usize,
    /// The `data` of one event, all its lines together.
    pub event: usize,
    /// A body that is read as a whole: a non-streamed answer or an error text.
    pub body: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { head: 64 << 10, line: 1 << 20, event: 4 << 20, body: 64 << 20 }
    }
}
