//! Secrets taken out of what is captured.
//!
//! Twice: where a text is named or shaped like a secret it is taken out on the spot (see [`crate::redact()`]); and every
//! text that was found to be one anywhere — a header that was sent, a variable of the engine's environment, an argument —
//! is taken out of all files, whatever stands around it there.

use crate::headers::Headers;
use aho_corasick::{AhoCorasick, MatchKind};
use firstcheck_ingest::fingerprint::{REDACTED, is_secret};
use std::collections::BTreeSet;

/// Shorter texts are words (`true`, `eu-1`), not secrets, and would make everything unreadable.
const SHORTEST: usize = 8;

/// Texts that are secrets.
#[derive(Debug, Default)]
pub(super) struct Secrets(BTreeSet<Vec<u8>>);

impl Secrets {
    /// Values of headers that are sent, and what follows a scheme in them (`Bearer KEY`).
    pub(super) fn of(headers: &Headers) -> Self {
        let mut secrets = Self::default();
        secrets.add(headers);
        secrets
    }

    pub(super) fn add(&mut self, headers: &Headers) {
        let values = headers.map().values().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        self.learn(&values.collect::<Vec<_>>());
    }

    pub(super) fn learn(&mut self, texts: &[String]) {
        for text in texts {
            let bare = text.split_once(' ').map_or("", |(_, bare)| bare);
            let long =
                [text.trim(), bare.trim()].into_iter().filter(|text| text.len() >= SHORTEST && *text != REDACTED);
            self.0.extend(long.map(|text| text.as_bytes().to_vec()));
        }
    }

    /// `bytes` without them.
    pub(super) fn conceal(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.0.is_empty() {
            return bytes;
        }
        match AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&self.0) {
            Ok(finder) => finder.replace_all_bytes(&bytes, &vec![REDACTED; self.0.len()]),
            // Too many to look for at once: one after the other, the longest first.
            Err(_) => {
                let mut all: Vec<&[u8]> = self.0.iter().map(Vec::as_slice).collect();
                all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let concealed = all
                    .iter()
                    .fold(text, |text, secret| text.replace(String::from_utf8_lossy(secret).as_ref(), REDACTED));
                concealed.into_bytes()
            }
        }
    }

    pub(super) fn conceal_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.conceal(text.as_bytes().to_vec())).into_owned()
    }
}

/// A metrics page without values of labels that are secrets. Names of series and labels stay: `token` in one is no key.
pub(super) fn page(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (n, part) in text.split('"').enumerate() {
        if n > 0 {
            out.push('"');
        }
        // What stands between two quotes is a value; an escaped quote only moves a boundary.
        let label = out.trim_end_matches(['"', '=']).rsplit(['{', ',', ' ', '\n']).next().unwrap_or_default();
        let last = label.rsplit('_').next().unwrap_or_default();
        let inside = out.ends_with("=\"");
        out.push_str(if inside && is_secret(last, part) { REDACTED } else { part });
    }
    out
}

/// Answers of a Prometheus, JSON, without values of labels that are secrets; an answer that is cut loses them as well.
pub(super) fn answers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut name) = (text, "");
    while let Some((between, string)) = rest.split_once('"') {
        let (value, behind) = string.split_at(end_of_string(string));
        let last = name.rsplit('_').next().unwrap_or_default();
        let is_secret = between.trim() == ":" && is_secret(last, value);
        out.extend([between, "\"", if is_secret { REDACTED } else { value }]);
        let closed = behind.strip_prefix('"');
        out.push_str(if closed.is_some() { "\"" } else { "" });
        (rest, name) = (closed.unwrap_or_default(), value);
    }
    out.push_str(rest);
    out
}

/// Where the string that `text` begins in ends: at its first quote that is not escaped, or with the text.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    let is_end = |byte: &u8| {
        let is_end = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        is_end
    };
    text.as_bytes().iter().position(is_end).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_an_answer_lose_their_secrets_alone() {
        let cases = [
            (
                r#"{"metric":{"api_key":"sk-planted12345678","pod":"a"}}"#,
                r#"{"metric":{"api_key":"(redacted)","pod":"a"}}"#,
            ),
            (
                r#"{"a": "x\"y", "password" : "planted-secret", "n": [1,"2"]}"#,
                r#"{"a": "x\"y", "password" : "(redacted)", "n": [1,"2"]}"#,
            ),
            (r#"{"token":"hf_planted12345678"#, r#"{"token":"(redacted)"#),
            ("no JSON", "no JSON"),
        ];
        for (given, expected) in cases {
            assert_eq!(answers(given), expected, "{given}");
        }
    }
}
