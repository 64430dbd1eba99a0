//! Settings as Python prints them: dictionaries, `key=value` lists, nested representations of dataclasses.

use super::scan::clipped;
use crate::fingerprint::{REDACTED, is_secret};
use firstcheck_model::engine_log::Setting;

/// Levels of nesting that are taken apart; deeper ones stay one value.
const DEPTH: usize = 3;

/// Characters of a value that are kept.
const VALUE: usize = 400;

/// Takes settings apart: `{'a': 1, 'b': {'c': 2}}`, `a=1, b=Config(c=2)`, `ServerArgs(a=1)`. A nested setting is named
/// `outer.inner`. Values of settings that hold secrets are redacted.
pub fn settings(text: &str, line: u64) -> Vec<Setting> {
    let mut all = Vec::new();
    collect(&mut all, "", body(text.trim()), line, 0);
    all
}

/// The inside of an outer pair of braces or of a call, else the text itself.
fn body(text: &str) -> &str {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    inner.or_else(|| call(text)).unwrap_or(text)
}

/// The arguments of `Name(…)`.
fn call(text: &str) -> Option<&str> {
    let (name, rest) = text.split_once('(')?;
    let named = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    named.then(|| rest.strip_suffix(')')).flatten()
}

fn collect(all: &mut Vec<Setting>, outer: &str, text: &str, line: u64, depth: usize) {
    for item in split_top(text, ',') {
        let item = item.trim();
        let Some((name, value)) = pair(item) else { continue };
        let name = if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") };
        let inner = body(value);
        let nested = inner.len() != value.len() && split_top(inner, ',').any(|item| pair(item.trim()).is_some());
        if nested && depth < DEPTH {
            collect(all, &name, inner, line, depth + 1);
        } else {
            all.push(Setting { value: shown(&name, value), name, line });
        }
    }
}

/// `'name': value` or `name=value`.
fn pair(item: &str) -> Option<(&str, &str)> {
    if let Some(quote) = item.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        let (name, rest) = item[1..].split_once(quote)?;
        return Some((name, rest.trim_start().strip_prefix(':')?.trim()));
    }
    let (name, value) = item.split_once('=')?;
    let named = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    named.then(|| (name, value.trim()))
}

/// A value as it is kept: without quotes, an enumeration's `<Mode.NONE: 0>` as its name, secrets redacted, long ones cut.
fn shown(name: &str, value: &str) -> String {
    let value = value.strip_prefix('<').and_then(|v| v.strip_suffix('>')).map_or(value, |inner| {
        let path = inner.split(':').next().unwrap_or(inner);
        path.rsplit('.').next().unwrap_or(path)
    });
    let bare = ['\'', '"'].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(value);
    // Of a list the items are looked at as well: `['sk-…']`.
    let items = bare.trim_matches(['[', ']', '(', ')']).split(',').map(|item| item.trim().trim_matches(['\'', '"']));
    let inner_name = name.rsplit('.').next().unwrap_or(name);
    if !matches!(bare, "" | "None" | "[]" | "()") && items.into_iter().any(|item| is_secret(inner_name, item)) {
        return REDACTED.to_owned();
    }
    clipped(bare, VALUE)
}

/// Parts of a text between separators that stand outside of brackets and quotes.
fn split_top(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let (mut depth, mut quote, mut escaped) = (0usize, None, false);
        for (at, c) in text.char_indices() {
            match quote {
                Some(_) if escaped => escaped = false,
                Some(_) if c == '\\' => escaped = true,
                Some(open) if c == open => quote = None,
                Some(_) => {}
                None => match c {
                    '\'' | '"' => quote = Some(c),
                    '(' | '[' | '{' | '<' => depth += 1,
                    ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
                    _ if c == separator && depth == 0 => {
                        rest = Some(&text[at + c.len_utf8()..]);
                        return Some(&text[..at]);
                    }
                    _ => {}
                },
            }
        }
        Some(text).filter(|text| !text.trim().is_empty())
    })
}
