//! The keys of JSON of which only the start is at hand: a trace of gigabytes tells what it is in its first lines.

use super::outline::{DEPTH, Outline};

/// Reads as far as the bytes go. What is cut off, or no JSON, ends the reading; what was seen before stays.
struct Scan<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Outline {
    /// The outline of the first value as far as `bytes` show it; `None` where they do not even begin one.
    pub(crate) fn of_start(bytes: &[u8]) -> Option<Self> {
        Scan { bytes, at: 0 }.value(DEPTH).0
    }
}

/// What was seen of a value, and whether it was seen to its end.
type Seen = (Option<Outline>, bool);

impl Scan<'_> {
    fn value(&mut self, levels: u8) -> Seen {
        match self.peek() {
            None => (None, false),
            Some(b'{') if levels > 0 => self.object(levels),
            Some(b'[') if levels > 0 => self.list(levels),
            Some(b'{' | b'[') => (Some(Outline::Other), self.skip_nested()),
            Some(b'"') => match self.text() {
                Some(text) => (Some(Outline::Text(text.chars().take(64).collect())), true),
                None => (Some(Outline::Other), false),
            },
            Some(_) => {
                let rest = &self.bytes[self.at..];
                let end = rest.iter().position(|b| matches!(b, b',' | b'}' | b']') || b.is_ascii_whitespace());
                self.at = end.map_or(self.bytes.len(), |end| self.at + end);
                (Some(Outline::Other), end.is_some_and(|end| end > 0))
            }
        }
    }

    fn object(&mut self, levels: u8) -> Seen {
        self.at += 1;
        let mut fields = Vec::new();
        let whole = loop {
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    break true;
                }
                Some(b',') => self.at += 1,
                Some(b'"') => {
                    let Some(key) = self.text() else { break false };
                    if self.peek() != Some(b':') {
                        break false;
                    }
                    self.at += 1;
                    let (value, whole) = self.value(levels - 1);
                    fields.push((key, value.unwrap_or(Outline::Other)));
                    if !whole {
                        break false;
                    }
                }
                _ => break false,
            }
        };
        (Some(Outline::Object(fields)), whole)
    }

    fn list(&mut self, levels: u8) -> Seen {
        self.at += 1;
        let mut first = None;
        let whole = loop {
            match self.peek() {
                Some(b']') => {
                    self.at += 1;
                    break true;
                }
                Some(b',') => self.at += 1,
                Some(_) if first.is_none() => {
                    let (value, whole) = self.value(levels - 1);
                    first = value.map(Box::new);
                    if !whole {
                        break false;
                    }
                }
                Some(_) => {
                    if !self.value(0).1 {
                        break false;
                    }
                }
                None => break false,
            }
        };
        (Some(Outline::List(first)), whole)
    }

    /// Passes over an object or a list, brackets in texts aside.
    fn skip_nested(&mut self) -> bool {
        let mut open = 0_usize;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    if self.text().is_none() {
                        return false;
                    }
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open -= 1,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return true;
            }
        }
        false
    }

    /// The text that begins here, escapes as they stand; `None` where it does not end.
    fn text(&mut self) -> Option<String> {
        let begin = self.at + 1;
        let mut at = begin;
        loop {
            match self.bytes.get(at)? {
                b'"' => break,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        self.at = at + 1;
        Some(String::from_utf8_lossy(&self.bytes[begin..at]).into_owned())
    }

    fn peek(&mut self) -> Option<u8> {
        let blank = self.bytes.get(self.at..)?.iter().take_while(|b| b.is_ascii_whitespace()).count();
        self.at += blank;
        self.bytes.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_before_the_cut_are_seen() {
        let text = br#"{"a": {"b": [1, 2, {"c": "}"}]}, "d": [{"e": 1}, {"f": 2}], "g": "x", "h": [1, 2"#;
        let seen = Outline::of_start(text).unwrap();
        assert!(seen.has(&["a", "d", "g", "h"]), "{seen:?}");
        assert!(seen.get("d").and_then(Outline::first).is_some_and(|first| first.has(&["e"])));
    }

    proptest! {
        #[test]
        fn a_whole_value_is_seen_as_the_decoder_sees_it(text in r#"\{("[a-c]":(1|null|"x"|\[1,\{"k":2\}\]|\{"a":\{"b":\{"c":\{"d":1\}\}\}\}),){0,4}"z":0\}"#) {
            prop_assert_eq!(Outline::of_start(text.as_bytes()), serde_json::from_str::<Outline>(&text).ok());
        }

        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(prop::sample::select(b"{}[]\",:\\ 1a".to_vec()), 0..60)) {
            Outline::of_start(&bytes);
        }
    }
}
