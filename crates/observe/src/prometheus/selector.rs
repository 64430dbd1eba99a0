//! What is asked for: label matchers, and names in batches that fit into an address.

use crate::error::{Error, Result};
use std::{fmt, str::FromStr};

/// Bytes of names that one request carries: addresses of some 8 KiB are let through everywhere, and each byte may take
/// three.
const BATCH: usize = 1500;

/// Label matchers of series: `job="vllm",namespace=~"prod-.*"`.
///
/// # Example: with or without braces
/// ```
/// use firstcheck_observe::prometheus::Selector;
/// let selector: Selector = "{job=\"vllm\"}".parse()?;
/// assert_eq!(selector, "job=\"vllm\"".parse()?);
/// assert_eq!(selector.to_string(), "{job=\"vllm\"}");
/// assert!("vllm:num_requests_running".parse::<Selector>().is_err());
/// # Ok::<(), firstcheck_observe::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(String);

impl Selector {
    /// The selector of these series by `names`.
    pub(super) fn named(&self, names: &str) -> String {
        format!("{{{},__name__=~\"{names}\"}}", self.0)
    }
}

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = |why| Error::Selector { text: text.into(), why };
        let inner = text.trim();
        let inner = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(inner);
        let inner = inner.trim().trim_end_matches(',');
        if inner.is_empty() {
            return Err(refuse("it is empty; name a job, as job=\"vllm\""));
        }
        let (mut quote, mut escaped, mut matchers) = (None, false, 0);
        for c in inner.chars() {
            match (quote, c) {
                (Some(_), _) if escaped => escaped = false,
                (Some(_), '\\') => escaped = true,
                (Some(open), c) if c == open => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => {
                    quote = Some(c);
                    matchers += 1;
                }
                (None, '{' | '}' | '[' | ']' | '(' | ')') => {
                    return Err(refuse("give label matchers alone, as job=\"vllm\": no name, no range, no function"));
                }
                _ => {}
            }
        }
        if quote.is_some() {
            return Err(refuse("a quoted value does not end"));
        }
        if matchers == 0 {
            return Err(refuse("values stand in quotes, as job=\"vllm\" (quote the whole for your shell)"));
        }
        Ok(Self(inner.to_owned()))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.0)
    }
}

/// Names as alternatives of a regular expression, in batches. They are names of metrics, so that nothing in them needs
/// an escape; others are left out.
pub(super) fn batches(names: &[String]) -> Vec<String> {
    let plain = |name: &&String| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b':');
    let mut batches: Vec<String> = Vec::new();
    for name in names.iter().filter(plain) {
        match batches.last_mut().filter(|batch| batch.len() + name.len() < BATCH) {
            Some(batch) => {
                batch.push('|');
                batch.push_str(name);
            }
            None => batches.push(name.clone()),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matchers_are_told_from_what_else_promql_holds() {
        for text in ["job=\"vllm\"", " {job=~\"a|b\", pod!=\"c}\"} ", "job='vllm',", "job=\"a\\\"[\""] {
            assert!(text.parse::<Selector>().is_ok(), "{text}");
        }
        for text in
            ["", "{}", "vllm:x", "job=vllm", "vllm:x{job=\"a\"}", "job=\"a\"}[5m]", "rate(x{job=\"a\"}[1m])", "job=\"a"]
        {
            assert!(text.parse::<Selector>().is_err(), "{text}");
        }
    }

    #[test]
    fn names_come_in_batches_that_fit() {
        let names: Vec<String> = (0..200).map(|n| format!("vllm:some_name_of_a_series_{n}")).collect();
        let batches = batches(&names);
        assert!(batches.len() > 1 && batches.iter().all(|batch| batch.len() <= BATCH));
        assert_eq!(batches.join("|").split('|').collect::<Vec<_>>(), names);
    }
}
