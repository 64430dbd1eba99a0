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
        let values = headers.map().values().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        secrets.learn(&values.collect::<Vec<_>>());
        secrets
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
