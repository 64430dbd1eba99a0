//! Times as people and programs write them beside what they save.

use jiff::{Timestamp, fmt::rfc2822, fmt::strtime};

/// Words that may stand before a time.
const WORDS: [&str; 7] = ["time", "timestamp", "scraped", "scrape", "at", "date", "ts"];

/// The time that a line consists of, nanoseconds of Unix time: RFC 3339, `date` in UTC, or a number of seconds,
/// milliseconds, microseconds or nanoseconds; marks around it (`#`, `===`, `---`) and words such as `time:` aside.
pub(crate) fn of_line(line: &[u8]) -> Option<i64> {
    if line.len() > 100 {
        return None;
    }
    let text = std::str::from_utf8(line).ok()?;
    let mark = |c: char| matches!(c, '#' | '=' | '-' | '*' | '[' | ']' | ':') || c.is_whitespace();
    let mut text = text.trim_matches(mark);
    while let Some((word, rest)) = text.split_once(|c: char| c.is_whitespace() || c == ':' || c == '=') {
        if !WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)) {
            break;
        }
        text = rest.trim_matches(mark);
    }
    of_number(text).or_else(|| of_text(text))
}

fn of_text(text: &str) -> Option<i64> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return nanoseconds(time);
    }
    // `date` in the C locale; another zone than UTC would need a table that says which offset its name meant.
    let utc = strtime::parse("%a %b %e %H:%M:%S UTC %Y", text).or_else(|_| strtime::parse("%F %H:%M:%S UTC", text));
    let time = utc.ok()?.to_datetime().ok()?;
    nanoseconds(jiff::tz::Offset::UTC.to_timestamp(time).ok()?)
}

/// The date of an HTTP head, nanoseconds of Unix time.
pub(crate) fn of_http(text: &str) -> Option<i64> {
    nanoseconds(rfc2822::DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok()?)
}

fn nanoseconds(time: Timestamp) -> Option<i64> {
    i64::try_from(time.as_nanosecond()).ok()
}

/// A number that can be a time after 1973, by its size.
pub(crate) fn of_number(text: &str) -> Option<i64> {
    if !text.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'e' || b == b'E' || b == b'+') {
        return None;
    }
    let whole: Option<i64> = text.parse().ok();
    let value: f64 = text.parse().ok()?;
    let scale: i64 = match value {
        v if (1e8..1e11).contains(&v) => 1_000_000_000,
        v if (1e11..1e14).contains(&v) => 1_000_000,
        v if (1e14..1e17).contains(&v) => 1_000,
        v if (1e17..9e18).contains(&v) => 1,
        _ => return None,
    };
    match whole {
        Some(whole) => whole.checked_mul(scale),
        // A fraction of a second to the nanosecond, without what a product of floats would lose.
        None => {
            let (whole, fraction) = (value.trunc(), value.fract());
            (whole as i64).checked_mul(scale)?.checked_add((fraction * scale as f64).round() as i64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        const NS: i64 = 1_700_000_000_000_000_000;
        for text in [
            "1700000000",
            "1700000000.0",
            "1700000000000",
            "1700000000000000",
            "1700000000000000000",
            "# 1700000000",
            "=== 2023-11-14T22:13:20Z ===",
            "# time: 2023-11-14T23:13:20+01:00",
            "2023-11-14 22:13:20Z",
            "Tue Nov 14 22:13:20 UTC 2023",
            "--- scraped at 2023-11-14T22:13:20.000Z ---",
            "# timestamp=1700000000",
        ] {
            assert_eq!(of_line(text.as_bytes()), Some(NS), "{text}");
        }
        assert_eq!(of_line(b"1700000000.25"), Some(NS + 250_000_000));
        for text in
            ["", "#", "12", "hello", "a 1", "vllm:x 1700000000", "Tue Nov 14 22:13:20 CET 2023", "99999999999999999999"]
        {
            assert_eq!(of_line(text.as_bytes()), None, "{text}");
        }
        assert_eq!(of_http("Tue, 14 Nov 2023 22:13:20 GMT"), Some(NS));
    }
}
