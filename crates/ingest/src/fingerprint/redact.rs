//! What must not enter a fingerprint.

use super::{names::spelled, secrets};
use firstcheck_model::fingerprint::{Fingerprint, Group, Stated, UNSET};
use xxhash_rust::xxh3::xxh3_64;

/// What stands in the place of a secret: that it was set is a fact, what it was is not ours.
pub const REDACTED: &str = "(redacted)";

/// Words of a setting's name that make its text a secret.
const SECRET_WORDS: [&str; 17] = [
    "key",
    "keys",
    "apikey",
    "token",
    "secret",
    "secrets",
    "password",
    "passwd",
    "passphrase",
    "pgpass",
    "credential",
    "credentials",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "webhook",
];

/// Words that do so at a name's end alone: `MY_PASS` is one, `pass_config` is not.
const SECRET_LAST_WORDS: [&str; 5] = ["pass", "pwd", "pat", "sig", "signature"];

/// Ends of words that do so wherever the word stands: `PGPASSWORD` has no mark between its two.
const SECRET_ENDS: [&str; 5] = ["password", "passwd", "secret", "apikey", "authtoken"];

/// Beginnings of values that are secrets whatever the setting is called.
const SECRET_VALUES: [&str; 20] = [
    "hf_",
    "sk-",
    "sk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "nvapi-",
    "npm_",
    "pypi-",
    "AIza",
    "AKIA",
    "ASIA",
    "Bearer ",
    "eyJ",
    "-----BEGIN ",
];

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
    let words = words(name);
    let named = words.iter().any(|word| is_secret_word(word))
        || words.last().is_some_and(|word| SECRET_LAST_WORDS.contains(&word.as_str()));
    let with_password =
        value.split_once("://").is_some_and(|(_, rest)| rest.split('/').next().is_some_and(|host| host.contains('@')));
    named || with_password || SECRET_VALUES.iter().any(|start| value.starts_with(start))
}

fn is_secret_word(word: &str) -> bool {
    SECRET_WORDS.contains(&word) || SECRET_ENDS.iter().any(|end| word.ends_with(end))
}

/// Letters and digits in a row from which a text that begins like a key is one: a model may be called `hf_small`.
const KEY_RUN: usize = 12;

fn is_key(value: &str) -> bool {
    SECRET_VALUES.iter().any(|start| value.starts_with(start))
        && value.split(|c: char| !c.is_ascii_alphanumeric()).any(|run| run.len() >= KEY_RUN)
}

/// A label's value as it may be kept: what its name's last word makes a secret is replaced, and what is a key by its looks. Of
/// the other words a name tells what a value is about (`key_type`).
///
/// Two values stay two (`(redacted 3f09a1)`): series that differ in nothing else would be one, whose counters restart at
/// every reading. The 24 bits of a hash that tell them apart are too few to find a key by.
pub fn label_value(name: &str, value: String) -> String {
    let last = name.rsplit('_').next().unwrap_or_default();
    let named = !is_plain(&value) && words(last).iter().any(|word| is_secret_word(word));
    // What another has replaced already stays as it is.
    if value.starts_with("(redacted") || !(named || is_key(&value)) {
        return value;
    }
    format!("(redacted {:06x})", xxh3_64(value.as_bytes()) & 0xff_ffff)
}

/// The words of a name in lower case: `apiKey`, `API_KEY`, `APIKey` and `api-key` have the same two.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut after_lower = false;
    let mut inside = false;
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        // The last capital of several begins the word that goes on in small letters.
        let begins = c.is_ascii_uppercase() && (after_lower || chars.peek().is_some_and(char::is_ascii_lowercase));
        if !c.is_ascii_alphanumeric() {
            inside = false;
        } else if inside
            && !begins
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_lowercase());
        } else {
            words.push(c.to_ascii_lowercase().into());
            inside = true;
        }
        after_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    words
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
