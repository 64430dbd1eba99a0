//! Python's `json` writes `NaN`, `Infinity` and `-Infinity`, which JSON does not have.

use std::borrow::Cow;

/// The bytes with those three words outside of strings replaced by `null`; borrowed where there are none.
pub(crate) fn lenient(bytes: &[u8]) -> Cow<'_, [u8]> {
    const WORDS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];
    // Most documents have none of them, which is told faster than what lies within strings.
    if WORDS[1..].iter().all(|word| memchr::memmem::find(bytes, word).is_none()) {
        return Cow::Borrowed(bytes);
    }
    let mut out: Option<Vec<u8>> = None;
    let (mut at, mut copied, mut inside) = (0, 0, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if inside => at += 1,
            b'"' => inside = !inside,
            b'-' | b'I' | b'N' if !inside => {
                if let Some(word) = WORDS.iter().find(|word| bytes[at..].starts_with(word)) {
                    let out = out.get_or_insert_with(|| Vec::with_capacity(bytes.len()));
                    out.extend_from_slice(&bytes[copied..at]);
                    out.extend_from_slice(b"null");
                    at += word.len();
                    copied = at;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    match out {
        None => Cow::Borrowed(bytes),
        Some(mut out) => {
            out.extend_from_slice(&bytes[copied..]);
            Cow::Owned(out)
        }
    }
}
