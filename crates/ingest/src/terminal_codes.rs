//! Codes by which programs colour a terminal and move its cursor.

use std::borrow::Cow;

/// Text without them.
pub(crate) fn without(text: Cow<'_, str>) -> Cow<'_, str> {
    if memchr::memchr(0x1b, text.as_bytes()).is_none() {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = match after.strip_prefix('[') {
            Some(code) => code.find(|c: char| ('@'..='~').contains(&c)).map_or("", |end| &code[end + 1..]),
            None => after,
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}
