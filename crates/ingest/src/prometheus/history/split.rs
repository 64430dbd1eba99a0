//! A sample line cut into its series and the rest, without taking either apart.

/// The bytes that name the series (name and labels), and what follows them: value, timestamp, exemplar. `None` where the
/// line has no such form.
pub(super) fn sample(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = line.iter().position(|b| matches!(b, b'{' | b' ' | b'\t'))?;
    let end = if line[end] == b'{' { end + 1 + braces(&line[end + 1..])? } else { end };
    let (series, rest) = (&line[..end], line[end..].trim_ascii_start());
    let plausible = series.first().is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b':' | b'{'));
    (plausible && !rest.is_empty()).then(|| {
        // What follows begins where the value does, so that a known series can be told by its bytes alone.
        let value = line.len() - rest.len();
        (&line[..value], rest)
    })
}

/// Bytes up to and with the closing brace, texts aside.
fn braces(inside: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'}', &inside[at..])?;
        if inside[at] == b'}' {
            return Some(at + 1);
        }
        at += 1;
        loop {
            at += memchr::memchr2(b'"', b'\\', &inside[at..])?;
            if inside[at] == b'"' {
                at += 1;
                break;
            }
            at += 2;
            if at > inside.len() {
                return None;
            }
        }
    }
}

/// The value and the timestamp of a sample: numbers, the second one optional, and an exemplar that is passed over.
pub(super) fn numbers(rest: &[u8]) -> Option<(f64, Option<f64>)> {
    // Most values are whole numbers of few digits, with `.0` behind them.
    if let Some(value) = whole(rest) {
        return Some((value, None));
    }
    let rest = memchr::memchr(b'#', rest).map_or(rest, |exemplar| &rest[..exemplar]).trim_ascii();
    let Some(blank) = rest.iter().position(u8::is_ascii_whitespace) else { return Some((number(rest)?, None)) };
    let (value, timestamp) = (&rest[..blank], rest[blank..].trim_ascii_start());
    Some((number(value)?, Some(number(timestamp).filter(|timestamp| timestamp.is_finite())?)))
}

fn number(word: &[u8]) -> Option<f64> {
    whole(word).or_else(|| std::str::from_utf8(word).ok()?.parse().ok())
}

fn whole(rest: &[u8]) -> Option<f64> {
    let digits = rest.strip_suffix(b".0").unwrap_or(rest);
    if digits.is_empty() || digits.len() > 15 {
        return None;
    }
    let mut value = 0_u64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value as f64)
}
