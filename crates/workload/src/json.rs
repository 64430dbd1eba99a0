//! Prompts as JSON, written straight into a request's buffer.

use crate::{
    prompt::{Message, Piece},
    text,
};

/// Appends `[{"role":…,"content":…},…]`.
pub(crate) fn write_messages(messages: &[Message], salt: Option<&str>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, message) in messages.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b",{\"role\":\"" } else { b"{\"role\":\"" });
        out.extend_from_slice(message.speaker.role().as_bytes());
        out.extend_from_slice(b"\",\"content\":\"");
        if at == 0 {
            write_salt(salt, out);
        }
        write_content(message, out);
        out.extend_from_slice(b"\"}");
    }
    out.push(b']');
}

/// Appends one string: the messages' texts, joined by line feeds.
pub(crate) fn write_joined(messages: &[Message], salt: Option<&str>, out: &mut Vec<u8>) {
    out.push(b'"');
    write_salt(salt, out);
    for (at, message) in messages.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(b"\\n");
        }
        write_content(message, out);
    }
    out.push(b'"');
}

fn write_salt(salt: Option<&str>, out: &mut Vec<u8>) {
    if let Some(salt) = salt {
        write_escaped(salt, out);
        out.push(b' ');
    }
}

fn write_content(message: &Message, out: &mut Vec<u8>) {
    for (at, piece) in message.pieces.iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        match piece {
            Piece::Text(text) => write_escaped(text, out),
            Piece::Synthetic { seed, tokens } => {
                // The vocabulary's words are lower-case letters: nothing to escape.
                let words = text::word_ids(*seed, *tokens).filter_map(text::word);
                for (at, word) in words.enumerate() {
                    if at > 0 {
                        out.push(b' ');
                    }
                    out.extend_from_slice(word.as_bytes());
                }
            }
        }
    }
}

/// Appends `text` as the inside of a JSON string.
fn write_escaped(text: &str, out: &mut Vec<u8>) {
    let quoted = serde_json::Value::from(text).to_string();
    let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    out.extend_from_slice(inside.unwrap_or_default().as_bytes());
}
