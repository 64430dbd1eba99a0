//! Prompts: synthetic segments that are equal when their seeds are, and text as given.

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
    Body(Arc<serde_json::Map<String, serde_json::Value>>),
}
