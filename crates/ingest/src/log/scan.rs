//! Small readers of figures in messages.

use firstcheck_model::unit::Bytes;

/// What stands between two marks.
pub(super) fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    Some(text.split_once(before)?.1.split_once(after)?.0)
}

/// The number right after a mark, thousands separators taken out.
pub(crate) fn number_after(text: &str, mark: &str) -> Option<f64> {
    leading_number(text.split_once(mark)?.1)
}

/// The number that a text begins with.
pub(super) fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let end = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || matches!(c, '.' | ',') || (*at == 0 && *c == '-')))
        .map_or(text.len(), |(at, _)| at);
    // A comma or point at the end belongs to the sentence.
    text[..end].trim_end_matches(['.', ',']).replace(',', "").parse().ok()
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
    Bytes(number * 1024.0 * 1024.0 * 1024.0)
}

/// A text of at most `most` characters.
pub(super) fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
