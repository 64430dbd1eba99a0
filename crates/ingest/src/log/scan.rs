//! Small readers of figures in messages.

use firstcheck_model::unit::Bytes;

/// What stands between two marks.
pub(super) fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    Some(text.split_once(before)?.1.split_once(after)?.0)
}

/// What stands before and after the first `mark`, an ASCII character. `str::split_once` does the same and takes longer to
/// begin than a short text takes to search.
pub(super) fn cut(text: &str, mark: u8) -> Option<(&str, &str)> {
    let at = memchr::memchr(mark, text.as_bytes())?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// As [`cut`], of the last `mark`.
pub(super) fn cut_last(text: &str, mark: u8) -> Option<(&str, &str)> {
    let at = memchr::memrchr(mark, text.as_bytes())?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// The parts of `a, b, c`.
pub(super) fn listed(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let bytes = text.as_bytes();
        let Some(at) = memchr::memchr_iter(b',', bytes).find(|at| bytes.get(at + 1) == Some(&b' ')) else {
            return Some(text);
        };
        rest = Some(&text[at + 2..]);
        Some(&text[..at])
    })
}

/// Name and value of `name: value`; a name may have `: ` in it.
pub(super) fn named(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let at = memchr::memrchr_iter(b':', bytes).find(|at| bytes.get(at + 1) == Some(&b' '))?;
    Some((&text[..at], &text[at + 2..]))
}

/// The number right after a mark, thousands separators taken out.
pub(crate) fn number_after(text: &str, mark: &str) -> Option<f64> {
    leading_number(text.split_once(mark)?.1)
}

/// The number that a text begins with.
pub(super) fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let mut bytes = text.bytes().enumerate();
    let end = bytes.find(|(at, b)| !(b.is_ascii_digit() || matches!(b, b'.' | b',') || (*at == 0 && *b == b'-')));
    // A comma or point at the end belongs to the sentence.
    let number = text[..end.map_or(text.len(), |(at, _)| at)].trim_end_matches(['.', ',']);
    if number.contains(',') { number.replace(',', "").parse().ok() } else { number.parse().ok() }
}

/// A whole number right after a mark, one that an `f64` holds exactly.
pub(crate) fn whole_after(text: &str, mark: &str) -> Option<u64> {
    number_after(text, mark).filter(|n| n.fract() == 0.0 && (0.0..9e15).contains(n)).map(|n| n as u64)
}

/// GiB right after a mark; engines call them GB as well.
pub(super) fn gib_after(text: &str, mark: &str) -> Option<Bytes> {
    number_after(text, mark).map(gib)
}

/// A number of GiB.
pub(super) fn gib(number: f64) -> Bytes {
    Bytes(number * Bytes::GIB)
}

/// A text of at most `most` characters.
pub(super) fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
