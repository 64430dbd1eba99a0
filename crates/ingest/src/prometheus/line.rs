//! One sample line of a metrics page.

use crate::fingerprint::label_value;
use std::borrow::Cow;

/// A sample line taken apart: name, labels in page order, value, timestamp as written.
pub(super) struct Line<'a> {
    pub name: Cow<'a, str>,
    pub labels: Vec<(String, String)>,
    pub value: f64,
    pub timestamp: Option<f64>,
}

/// Takes a line apart: `name{label="value",…} value [timestamp] [# exemplar]`, or with a quoted name inside the braces.
///
/// # Errors
/// Why it is no sample line.
pub(super) fn parse(line: &str) -> Result<Line<'_>, String> {
    let mut rest = line.trim_start();
    let bare = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
    let (mut name, after) = (Cow::Borrowed(&rest[..bare]), rest[bare..].trim_start());
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("a metric name begins with a digit".into());
    }
    rest = after;
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = braces(inside, &mut name, &mut labels)?;
    }
    if name.is_empty()
        && let Some(at) = labels.iter().position(|(label, _)| label == "__name__")
    {
        // As `promtool tsdb dump` writes it.
        name = Cow::Owned(labels.remove(at).1);
    }
    if name.is_empty() {
        return Err("no metric name".into());
    }
    let rest = rest.split('#').next().unwrap_or(rest);
    let mut words = rest.split_ascii_whitespace();
    let value = words.next().ok_or("no value")?;
    let value = number(value).ok_or_else(|| format!("value `{}` is no number", clip(value)))?;
    let timestamp = match words.next() {
        None => None,
        Some(word) => Some(
            number(word).filter(|t| t.is_finite()).ok_or_else(|| format!("timestamp `{}` is no number", clip(word)))?,
        ),
    };
    match words.next() {
        None => Ok(Line { name, labels, value, timestamp }),
        Some(word) => Err(format!("unexpected `{}` after the value", clip(word))),
    }
}

/// Reads labels up to the closing brace and returns what follows it.
fn braces<'a>(
    mut rest: &'a str,
    name: &mut Cow<'a, str>,
    labels: &mut Vec<(String, String)>,
) -> Result<&'a str, String> {
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return Ok(after);
        }
        let label = if let Some(quoted) = rest.strip_prefix('"') {
            let (text, after) = quoted_text(quoted)?;
            rest = after.trim_start();
            if !rest.starts_with('=') {
                if !name.is_empty() {
                    return Err("a second metric name inside the braces".into());
                }
                *name = Cow::Owned(text);
                rest = separator(rest)?;
                continue;
            }
            text
        } else {
            let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
            let label = rest[..end].to_owned();
            rest = rest[end..].trim_start();
            label
        };
        if label.is_empty() {
            return Err("a label without a name".into());
        }
        rest = rest.strip_prefix('=').ok_or_else(|| format!("label `{}` has no `=`", clip(&label)))?.trim_start();
        let quoted = rest.strip_prefix('"').ok_or_else(|| format!("label `{}` is not quoted", clip(&label)))?;
        let (value, after) = quoted_text(quoted)?;
        if labels.iter().any(|(l, _)| *l == label) {
            return Err(format!("label `{}` is given twice", clip(&label)));
        }
        let value = label_value(&label, value);
        labels.push((label, value));
        rest = separator(after.trim_start())?;
    }
}

fn separator(rest: &str) -> Result<&str, String> {
    match rest.as_bytes().first() {
        Some(b',') => Ok(&rest[1..]),
        Some(b'}') => Ok(rest),
        Some(_) => Err("labels are not separated by a comma".into()),
        None => Err("the labels do not end".into()),
    }
}

/// Text up to the closing quote with `\\`, `\"` and `\n` resolved, and what follows the quote.
fn quoted_text(rest: &str) -> Result<(String, &str), String> {
    let mut text = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((text, &rest[at + 1..])),
            '\\' => match chars.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, c @ ('\\' | '"'))) => text.push(c),
                // An unknown escape is kept as it stands, as Prometheus itself does.
                Some((_, c)) => text.extend(['\\', c]),
                None => break,
            },
            c => text.push(c),
        }
    }
    Err("a quoted text does not end".into())
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

/// A value as pages write it: a decimal, `NaN`, `+Inf`, `-Inf`.
pub(super) fn number(word: &str) -> Option<f64> {
    word.parse().ok()
}

/// At most 40 characters, for a message.
fn clip(text: &str) -> String {
    text.chars().take(40).collect()
}
