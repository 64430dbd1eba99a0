//! The start of an artefact: what a format is recognised by.

use crate::json::Outline;
use std::cell::OnceCell;

/// Bytes that are looked at before it is known what they are.
pub(crate) const HEAD_BYTES: usize = 1 << 16;

/// Bytes in which words and lines are looked for, however much is held: a recogniser costs the same for any artefact.
const START_BYTES: usize = 1 << 18;

/// The first bytes of an artefact, without a byte-order mark.
pub struct Head<'h> {
    bytes: &'h [u8],
    whole: bool,
    outline: OnceCell<Option<Outline>>,
}

impl<'h> Head<'h> {
    /// `whole`: the artefact ends within `bytes`.
    pub(crate) fn new(bytes: &'h [u8], whole: bool) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        Self { bytes, whole, outline: OnceCell::new() }
    }

    /// The bytes: all that is held of it, which for JSON may be the whole artefact.
    pub fn bytes(&self) -> &'h [u8] {
        self.bytes
    }

    /// The first of them, where what tells a format stands.
    pub fn start(&self) -> &'h [u8] {
        &self.bytes[..self.bytes.len().min(START_BYTES)]
    }

    /// Whether the artefact ends within these bytes.
    pub fn whole(&self) -> bool {
        self.whole
    }

    /// Whether the artefact begins with `text`, blanks aside.
    pub fn begins(&self, text: &str) -> bool {
        self.bytes.trim_ascii_start().starts_with(text.as_bytes())
    }

    /// Whole lines of the start, without line breaks; one that is cut by its end is left out.
    pub fn lines(&self) -> impl Iterator<Item = &'h [u8]> {
        let start = self.start();
        let all = self.whole && start.len() == self.bytes.len();
        let end = if all { Some(start.len()) } else { start.iter().rposition(|b| *b == b'\n') };
        let lines = start[..end.unwrap_or(0)].split(|b| *b == b'\n');
        lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// Names of the columns, where the first line is that of a table with commas.
    pub fn columns(&self) -> Vec<&'h str> {
        let first = self.lines().next().and_then(|line| std::str::from_utf8(line).ok()).unwrap_or("");
        first.split(',').map(|name| name.trim().trim_matches('"')).collect()
    }

    /// The keys of the first value, where the artefact is JSON; of one that goes on beyond the head, those seen so far.
    pub(crate) fn json(&self) -> Option<&Outline> {
        let outline = || begins_as_json(self.bytes).then(|| Outline::of_start(self.bytes)).flatten();
        self.outline.get_or_init(outline).as_ref()
    }

    /// The first value, or of a list its first element, where it is an object that has all `keys`.
    pub(crate) fn object(&self, keys: &[&str]) -> Option<&Outline> {
        self.json()?.first().filter(|first| first.has(keys))
    }
}

/// Whether bytes can be JSON that says anything. Prometheus-like and log text may begin with a bracket too, so a list has
/// to show a value that JSON can hold.
fn begins_as_json(bytes: &[u8]) -> bool {
    let rest = bytes.trim_ascii_start();
    let (object, rest) = match rest.first() {
        Some(b'{') => (true, rest[1..].trim_ascii_start()),
        Some(b'[') => (false, rest[1..].trim_ascii_start()),
        _ => return false,
    };
    match rest.first() {
        Some(b'"') | None => true,
        Some(b'}') => object,
        Some(b'{' | b'[' | b']') => !object,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_begins_with_a_bracket_is_not_taken_for_json() {
        for (text, json) in
            [("{\"a\":1", true), (" [\n{\"a\"", true), ("[core.py:133] x", false), ("{} 1\n", true), ("{a}", false)]
        {
            assert_eq!(Head::new(text.as_bytes(), false).json().is_some(), json, "{text}");
        }
    }
}
