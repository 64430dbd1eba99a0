//! Secrets taken out of what is captured.
//!
//! Twice: where a text is named or shaped like a secret it is taken out on the spot (see [`crate::redact()`]); and every
//! text that was found to be one anywhere — a header that was sent, a variable of the engine's environment, an argument —
//! is taken out of all files, whatever stands around it there.

use crate::headers::Headers;
use aho_corasick::{AhoCorasick, MatchKind};
use firstcheck_ingest::fingerprint::{REDACTED, label_value};
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
        let inside = out.ends_with("=\"");
        let kept = if inside { label_value(label, part.to_owned()) } else { part.to_owned() };
        out.push_str(&kept);
    }
    out
}

/// Answers of a Prometheus, JSON, without values of labels that are secrets; an answer that is cut loses them as well.
pub(super) fn answers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut name) = (text, "");
    while let Some((between, string)) = rest.split_once('"') {
        let (value, behind) = string.split_at(end_of_string(string));
        let kept = if between.trim() == ":" { label_value(name, value.to_owned()) } else { value.to_owned() };
        out.extend([between, "\"", &kept]);
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
                [r#"{"metric":{"api_key":"(redacted "#, r#"","pod":"a"}}"#],
            ),
            (
                r#"{"a": "x\"y", "password" : "planted-secret", "n": [1,"2"]}"#,
                [r#"{"a": "x\"y", "password" : "(redacted "#, r#"", "n": [1,"2"]}"#],
            ),
            (r#"{"token":"hf_planted12345678"#, [r#"{"token":"(redacted "#, ")"]),
            ("no JSON", ["no ", "JSON"]),
        ];
        for (given, [start, end]) in cases {
            let kept = answers(given);
            assert!(kept.starts_with(start) && kept.ends_with(end) && !kept.contains("planted"), "{given}: {kept}");
        }
    }

    /// A capture and the page itself name the same deployment.
    #[test]
    fn a_captured_page_keeps_what_reading_it_would_keep() {
        let kept = page("a{model_name=\"hf_small\",customer_key=\"a\"} 1\na{customer_key=\"b\"} 2\n");
        assert!(kept.starts_with("a{model_name=\"hf_small\",customer_key=\"(redacted "), "{kept}");
        let values: Vec<&str> = kept.split("customer_key=").skip(1).filter_map(|rest| rest.split('}').next()).collect();
        assert!(values.len() == 2 && values[0] != values[1], "{kept}");
    }
}
