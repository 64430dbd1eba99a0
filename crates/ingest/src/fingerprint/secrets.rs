//! Secrets taken out of what a server says of itself.

use super::redact::{REDACTED, is_secret};
use serde_json::Value;

/// Parts of a name that make its text a secret.
const SECRET: [&str; 6] = ["key", "token", "secret", "password", "authorization", "credential"];

/// Takes secrets out of an answer in JSON, in place: the text of every field named like a key, token, secret, password,
/// credential or authorization, the arguments of such options in a command line, and texts that look like keys wherever
/// they stand. Numbers and truth values stay (`max_tokens` is none), and so does what names a tokenizer.
pub fn redact(value: &mut Value) {
    match value {
        Value::String(found) => *found = text(found),
        Value::Array(items) => arguments(items),
        Value::Object(fields) => {
            for (name, value) in fields {
                if names_a_secret(name) { blank(value) } else { redact(value) }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn names_a_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase().replace("tokeniz", "");
    // As it is written: capitals tell where a word begins.
    SECRET.iter().any(|part| lower.contains(part)) || is_secret(name, "text")
}

/// Replaces every text in `value`.
fn blank(value: &mut Value) {
    match value {
        Value::String(found) if is_plain(found) => {}
        Value::String(found) => *found = REDACTED.into(),
        Value::Array(items) => items.iter_mut().for_each(blank),
        Value::Object(fields) => fields.values_mut().for_each(blank),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A number, a truth value or nothing: no secret, and worth knowing.
fn is_plain(found: &str) -> bool {
    found.parse::<f64>().is_ok() || matches!(found, "" | "true" | "false" | "True" | "False" | "None" | "null")
}

/// A list may be a command line, where `--api-key` stands before its argument.
fn arguments(items: &mut [Value]) {
    let (mut after_secret, mut after_user) = (false, false);
    for item in items {
        let option = item.as_str().is_some_and(|text| text.starts_with('-'));
        let user = after_user && item.as_str().is_some_and(|text| text.contains(':') && !text.contains("://"));
        if (after_secret && !option) || user {
            blank(item);
        } else {
            redact(item);
        }
        // `--api-key` takes several.
        after_secret = match item.as_str() {
            Some(text) if option => text.starts_with("--") && !text.contains('=') && names_a_secret(text),
            _ => after_secret,
        };
        after_user = matches!(item.as_str(), Some("-u" | "--user"));
    }
}

/// What separates the words of a text: `name=value`, `'name': 'value'`, `--name value`, `?name=value&name=value`.
fn separates(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '=' | ':' | ',' | ';' | '\'' | '"' | '(' | ')' | '{' | '}' | '[' | ']' | '?' | '&' | '#')
}

/// A text with what follows a secret's name, and what looks like a key, replaced.
pub fn text(found: &str) -> String {
    let found = &without_private_keys(found);
    let mut out = String::with_capacity(found.len());
    let mut rest = found.as_str();
    // Whether the next word is a secret, and what stood between a name and it so far.
    let mut expected = Expected::Nothing;
    while !rest.is_empty() {
        let gap = rest.find(|c| !separates(c)).unwrap_or(rest.len());
        let (between, tail) = rest.split_at(gap);
        // Where the value of `-u` is a user with its password, both are cut out whole.
        let length = match expected {
            Expected::User => tail.find(|c: char| c.is_whitespace() || matches!(c, '\'' | '"')).unwrap_or(tail.len()),
            _ => tail.find(separates).unwrap_or(tail.len()),
        };
        let (word, tail) = tail.split_at(length);
        out.push_str(between);
        rest = tail;
        if word.is_empty() {
            continue;
        }
        let secret = match expected {
            Expected::Nothing => false,
            Expected::AfterOption => true,
            Expected::AfterName => between.contains(['=', ':']) && !between.contains([',', ';']),
            Expected::Cookies { begun } => !(between.contains('\n') || begun && between.contains(['\'', '"'])),
            Expected::User => word.contains(':') && !word.contains("://"),
        };
        let scheme = matches!(word, "Bearer" | "Basic");
        let names = rest.trim_start_matches(['\'', '"', ' ']).starts_with(['=', ':']);
        let looks_like_a_key = !names && is_secret("", word);
        let hide = !scheme && !is_plain(word) && !word.starts_with("--") && (secret || looks_like_a_key);
        out.push_str(if hide { REDACTED } else { word });
        expected = match expected {
            Expected::Cookies { .. } if secret => Expected::Cookies { begun: true },
            _ if secret && scheme => Expected::AfterOption,
            _ if hide => Expected::Nothing,
            _ => after(word),
        };
    }
    with_addresses(&out)
}

#[derive(Clone, Copy)]
enum Expected {
    Nothing,
    /// A secret's name: its value follows after `=` or `:`.
    AfterName,
    /// `--api-key` or `Bearer`: the next word is the value.
    AfterOption,
    /// A header of cookies: names and values to the line's or the text's end.
    Cookies {
        /// Whether the first of them was passed.
        begun: bool,
    },
    /// `-u`, of a command that fetches an address.
    User,
}

/// What a word lets expect of the next.
fn after(word: &str) -> Expected {
    // A host is none, whatever it is called, and of a path the last part may be.
    let name = if word.starts_with("//") { "" } else { word.rsplit('/').next().unwrap_or_default() };
    match name {
        "-u" | "--user" => Expected::User,
        _ if matches!(name.to_ascii_lowercase().as_str(), "cookie" | "set-cookie") => {
            Expected::Cookies { begun: false }
        }
        _ if !names_a_secret(name) => Expected::Nothing,
        _ if name.starts_with("--") => Expected::AfterOption,
        _ => Expected::AfterName,
    }
}

/// Replaces private keys in their armour, which has lines and blanks in it; one that is cut ends with the text.
fn without_private_keys(found: &str) -> String {
    const BEGIN: &str = "-----BEGIN ";
    const END: &str = "-----END ";
    let mut out = String::with_capacity(found.len());
    let mut rest = found;
    while let Some((before, armour)) = rest.split_once(BEGIN) {
        out.push_str(before);
        let title = armour.split("-----").next().unwrap_or_default();
        if !title.contains("PRIVATE KEY") {
            out.push_str(BEGIN);
            rest = armour;
            continue;
        }
        out.push_str(REDACTED);
        let behind = armour.split_once(END).map_or("", |(_, behind)| behind);
        rest = behind.split_once("-----").map_or("", |(_, behind)| behind);
    }
    out.push_str(rest);
    out
}

/// What the path of a hook begins with.
const HOOKS: [&str; 4] = ["hooks.slack.com/services/", "/api/webhooks/", "/webhook/", "/webhookb2/"];

/// Replaces user and password in addresses, and the paths of hooks; the splitting above cuts those at their colons.
fn with_addresses(found: &str) -> String {
    let mut out = String::with_capacity(found.len());
    let mut rest = found;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, '/' | '\'' | '"' | ',')).unwrap_or(after.len());
        let host = after.get(..end).unwrap_or_default();
        rest = after;
        if let Some(user) = host.rfind('@') {
            out.push_str(REDACTED);
            rest = after.get(user..).unwrap_or_default();
        }
        // Whoever has the address of a hook may post to it: its path is the key.
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | ',')).unwrap_or(rest.len());
        let (address, behind) = rest.split_at(end);
        if let Some(at) = HOOKS.iter().find_map(|hook| Some(address.find(hook)? + hook.len())) {
            out.push_str(address.get(..at).unwrap_or_default());
            out.push_str(REDACTED);
            rest = behind;
        }
    }
    out.push_str(rest);
    out
}
