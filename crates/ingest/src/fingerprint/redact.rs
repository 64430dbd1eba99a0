//! What must not enter a fingerprint.

use super::{names::spelled, secrets};
use firstcheck_model::fingerprint::{Fingerprint, Group, Stated, UNSET};

/// What stands in the place of a secret: that it was set is a fact, what it was is not ours.
pub const REDACTED: &str = "(redacted)";

/// Words of a setting's name that make its text a secret.
const SECRET_WORDS: [&str; 12] = [
    "key",
    "keys",
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "credential",
    "credentials",
    "auth",
    "authorization",
    "bearer",
];

/// Beginnings of values that are secrets whatever the setting is called.
const SECRET_VALUES: [&str; 6] = ["hf_", "sk-", "ghp_", "Bearer ", "eyJ", "AKIA"];

/// A number, a truth value, or a list of such: no secret.
fn is_plain(value: &str) -> bool {
    let one = |value: &str| value.parse::<f64>().is_ok() || matches!(value, "true" | "false" | "True" | "False");
    let list = value.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    one(value) || list.is_some_and(|inner| inner.trim().is_empty() || inner.split(',').all(|item| one(item.trim())))
}

/// Whether a setting's text must not be kept: by its name (`api_key`, `hf_token`, but not `max_num_batched_tokens`),
/// by its beginning, or because it is an address with a password in it. A number or a truth value is none.
pub fn is_secret(name: &str, value: &str) -> bool {
    if is_plain(value) {
        return false;
    }
    let named = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| SECRET_WORDS.contains(&word.to_ascii_lowercase().as_str()));
    let with_password =
        value.split_once("://").is_some_and(|(_, rest)| rest.split('/').next().is_some_and(|host| host.contains('@')));
    named || with_password || SECRET_VALUES.iter().any(|start| value.starts_with(start))
}

/// Where a field was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'p> {
    pub(super) from: &'p str,
    /// The line, from 1.
    pub(super) line: Option<u64>,
}

/// States a field in one spelling; secrets become [`REDACTED`]. An empty value states nothing.
pub(super) fn state(into: &mut Fingerprint, group: Group, name: &str, value: &str, place: Place<'_>) {
    // Before blanks are taken out of lists: they part an option from its argument.
    let value = spelled(name, &secrets::text(value));
    if value.is_empty() {
        return;
    }
    let secret = value != UNSET && is_secret(name, &value);
    let value = if secret { REDACTED.to_owned() } else { value };
    into.state(group, name, Stated { value, from: place.from.to_owned(), line: place.line });
}

/// Sets a field of the group that its name belongs to.
pub(super) fn set(into: &mut Fingerprint, name: &str, value: &str, from: &str) {
    state(into, Group::of(name), name, value, Place { from, line: None });
}
