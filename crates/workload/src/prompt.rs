//! Prompts: synthetic segments that are equal when their seeds are, and text as given.
//!
//! # The salt
//!
//! A salted prompt begins with the salt and a space, in front of the first message whoever speaks it (of a request
//! body: in front of its first text). Servers find cached blocks by the tokens *from the prompt's start*, so nothing
//! after a new salt is shared with an earlier run, while requests of the same run still share what they shared without
//! it, the salt included. What a chat template puts before the first message stays shared; it is shorter than a block
//! or two and the same for every client.
//!
//! # Streaming
//!
//! A prompt holds seeds, not text. The `write_…` methods append to a buffer of the caller, who can use one again and
//! again: a trace of 500 MB of text is never in memory at once.

use crate::{body, json, text};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// `system`
    System,
    /// `user`
    User,
    /// `assistant`
    Assistant,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Piece {
    /// `tokens` pseudo-random words drawn from `seed`: equal pieces give equal text, a shorter piece of the same seed is
    /// a prefix of a longer one.
    Synthetic {
        /// Seed of its words.
        seed: u64,
        /// Its length in words; each is one token in common vocabularies.
        tokens: u32,
    },
    /// Text as given.
    Text(Arc<str>),
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Message {
    /// Who speaks.
    pub speaker: Speaker,
    /// Its pieces, joined by spaces.
    pub pieces: Vec<Piece>,
}

/// What a request asks.
#[derive(Debug, Clone, PartialEq)]
pub enum Prompt {
    /// Messages; a plain completion joins their texts.
    Messages(Vec<Message>),
    /// A whole request body as given; only `model`, streaming fields and the salt are set.
    Body(Arc<Map<String, Value>>),
}

impl Speaker {
    /// The name in request bodies (`system`, `user`, `assistant`).
    pub const fn role(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

impl Piece {
    /// Length in tokens: for text as given, its words.
    pub fn tokens(&self) -> u64 {
        match self {
            Self::Synthetic { tokens, .. } => u64::from(*tokens),
            Self::Text(text) => text::count_words(text),
        }
    }

    /// Appends its token ids.
    pub fn write_token_ids(&self, out: &mut Vec<u32>) {
        match self {
            Self::Synthetic { seed, tokens } => {
                out.reserve(*tokens as usize);
                text::word_ids(*seed, *tokens).for_each(|id| out.push(id));
            }
            Self::Text(text) => text::write_token_ids(text, out),
        }
    }

    /// Appends its text.
    pub fn write_text(&self, out: &mut String) {
        match self {
            Self::Synthetic { seed, tokens } => text::render(text::word_ids(*seed, *tokens), out),
            Self::Text(text) => out.push_str(text),
        }
    }
}

impl Message {
    /// What `speaker` says.
    pub fn new(speaker: Speaker, pieces: Vec<Piece>) -> Self {
        Self { speaker, pieces }
    }

    /// Length in tokens.
    pub fn tokens(&self) -> u64 {
        self.pieces.iter().map(Piece::tokens).sum()
    }

    /// Appends its text: its pieces, joined by spaces.
    pub fn write_text(&self, out: &mut String) {
        for (at, piece) in self.pieces.iter().enumerate() {
            if at > 0 {
                out.push(' ');
            }
            piece.write_text(out);
        }
    }
}

impl Prompt {
    /// One message of the user.
    pub fn user(pieces: Vec<Piece>) -> Self {
        Self::Messages(vec![Message::new(Speaker::User, pieces)])
    }

    /// Length in tokens, without a salt: as many as [`Prompt::token_ids`] gives. Exact for synthetic prompts, but for
    /// the tokens of a chat template; for text as given an estimate (its words).
    pub fn prompt_tokens(&self) -> u64 {
        match self {
            Self::Messages(messages) => messages.iter().map(Message::tokens).sum(),
            Self::Body(map) => {
                let mut ids = Vec::new();
                body::write_token_ids(map, &mut ids);
                ids.len() as u64
            }
        }
    }

    /// Its token ids: those that [`text::write_token_ids`] reads from its text.
    pub fn token_ids(&self, salt: Option<&str>) -> Vec<u32> {
        let mut ids = Vec::new();
        self.write_token_ids(salt, &mut ids);
        ids
    }

    /// Appends its token ids.
    pub fn write_token_ids(&self, salt: Option<&str>, out: &mut Vec<u32>) {
        match self {
            Self::Messages(messages) => {
                if let Some(salt) = salt {
                    text::write_token_ids(salt, out);
                }
                let pieces = messages.iter().flat_map(|message| &message.pieces);
                pieces.for_each(|piece| piece.write_token_ids(out));
            }
            Self::Body(map) => match salt {
                None => body::write_token_ids(map, out),
                Some(salt) => body::write_token_ids(&body::salted(map, salt), out),
            },
        }
    }

    /// Its text as a plain completion takes it.
    pub fn text(&self, salt: Option<&str>) -> String {
        let mut text = String::new();
        self.write_text(salt, &mut text);
        text
    }

    /// Appends its text as a plain completion takes it: the messages' texts, joined by line feeds. Of a body given as
    /// token ids there is no text; its ids are written as [`text::render`] writes them.
    pub fn write_text(&self, salt: Option<&str>, out: &mut String) {
        match self {
            Self::Messages(messages) => {
                write_salt(salt, out);
                for (at, message) in messages.iter().enumerate() {
                    if at > 0 {
                        out.push('\n');
                    }
                    message.write_text(out);
                }
            }
            Self::Body(map) => match salt {
                None => body::write_text(map, out),
                Some(salt) => body::write_text(&body::salted(map, salt), out),
            },
        }
    }

    /// Appends the JSON array that `/v1/chat/completions` takes as `messages`; of a body its own `messages`, or `null`
    /// if it has none.
    pub fn write_messages_json(&self, salt: Option<&str>, out: &mut Vec<u8>) {
        match self {
            Self::Messages(messages) => json::write_messages(messages, salt, out),
            Self::Body(_) => self.write_field("messages", salt, out),
        }
    }

    /// Appends the JSON string that `/v1/completions` takes as `prompt`; of a body its own `prompt`, or `null` if it has
    /// none.
    pub fn write_prompt_json(&self, salt: Option<&str>, out: &mut Vec<u8>) {
        match self {
            Self::Messages(messages) => json::write_joined(messages, salt, out),
            Self::Body(_) => self.write_field("prompt", salt, out),
        }
    }

    /// The whole request body as given, salted; `None` for messages.
    pub fn body(&self, salt: Option<&str>) -> Option<Map<String, Value>> {
        match self {
            Self::Messages(_) => None,
            Self::Body(map) => Some(match salt {
                None => Map::clone(map),
                Some(salt) => body::salted(map, salt),
            }),
        }
    }

    fn write_field(&self, field: &str, salt: Option<&str>, out: &mut Vec<u8>) {
        let value = self.body(salt).and_then(|mut map| map.remove(field)).unwrap_or(Value::Null);
        out.extend_from_slice(value.to_string().as_bytes());
    }
}

/// Appends the salt and the space after it.
fn write_salt(salt: Option<&str>, out: &mut String) {
    if let Some(salt) = salt {
        out.push_str(salt);
        out.push(' ');
    }
}
