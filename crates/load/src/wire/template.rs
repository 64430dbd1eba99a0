//! Reading an event without parsing its JSON, where that is exact.

use crate::prefetch::prefetch;

/// Remembers the bytes before and after the text of the last event that was parsed in full.
///
/// An event with the same bytes at both ends, and between them neither a quote nor a backslash nor a control
/// character, is the same JSON document with another string in that place: no second parse is needed. Everything else
/// (a role, a tool call, usage, an escaped text, a changed time stamp) does not match and is parsed.
#[derive(Debug, Default)]
pub struct Template {
    /// What stands before the text, and then what stands after it: in one piece of memory, since it is read for each
    /// event of hundreds of streams.
    ends: Box<[u8]>,
    /// Length of what stands before; 0: nothing is known.
    before: usize,
}

impl Template {
    /// The text of `event` if it has the remembered structure.
    #[inline]
    pub fn text<'e>(&self, event: &'e [u8]) -> Option<&'e str> {
        if self.before == 0 {
            return None;
        }
        let (before, after) = self.ends.split_at_checked(self.before)?;
        let text = event.strip_prefix(before)?.strip_suffix(after)?;
        let plain = text.iter().fold(true, |plain, &b| plain & (b >= b' ') & (b != b'"') & (b != b'\\'));
        // An empty text carries no token, which is for the full reading to say.
        if !plain || text.is_empty() {
            return None;
        }
        std::str::from_utf8(text).ok()
    }

    /// Has the remembered structure fetched into the cache.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&*self.ends, self.ends.len());
    }

    /// Learns the structure of `event`, in which `text` is the only string that varies.
    ///
    /// A `text` that is not a slice of `event` (because it had escapes and was copied) teaches nothing.
    pub fn learn(&mut self, event: &[u8], text: &str) {
        let range = event.as_ptr_range();
        let inside = range.contains(&text.as_ptr()) && range.end >= text.as_bytes().as_ptr_range().end;
        if !inside || text.is_empty() {
            return;
        }
        let at = text.as_ptr().addr() - event.as_ptr().addr();
        let (Some(before), Some(after)) = (event.get(..at), event.get(at + text.len()..)) else { return };
        // The text must be a whole string value: its quotes belong to the structure.
        if !(before.ends_with(b"\"") && after.starts_with(b"\"")) {
            return;
        }
        self.ends = [before, after].concat().into_boxed_slice();
        self.before = before.len();
    }

    /// Forgets the structure, so that the next event is parsed in full.
    pub fn forget(&mut self) {
        self.ends = Box::default();
        self.before = 0;
    }
}
