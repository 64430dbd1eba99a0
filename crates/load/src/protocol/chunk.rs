//! The JSON of an answer: what of it is read, and how.
//!
//! Chat and completions, streamed and whole, differ in where the text sits; one lenient shape reads all four. Unknown
//! fields are skipped, known ones may be null or absent.

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, SeqAccess, Visitor},
};
use std::{borrow::Cow, fmt};

/// A string that stays a slice of the input unless it holds escapes.
///
/// The newtype is needed: a bare `Option<Cow<str>>` is always copied by serde.
#[derive(Debug, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// One event, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub choices: Option<Vec<Choice<'a>>>,
    pub usage: Option<Usage>,
    #[serde(borrow)]
    pub error: Option<ErrorShape<'a>>,
    /// `error` in the flat form of older servers, with the text in `message`.
    #[serde(borrow)]
    pub object: Option<Text<'a>>,
    #[serde(borrow)]
    pub message: Option<Text<'a>>,
}

/// One of the sequences that were asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub delta: Option<Message<'a>>,
    #[serde(borrow)]
    pub message: Option<Message<'a>>,
    #[serde(borrow)]
    pub text: Option<Text<'a>>,
    #[serde(borrow)]
    pub finish_reason: Option<Text<'a>>,
    pub token_ids: Option<Count>,
    pub logprobs: Option<Logprobs>,
}

/// What a chat answer or a piece of one says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub content: Option<Text<'a>>,
    #[serde(borrow)]
    pub reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    pub reasoning: Option<Text<'a>>,
    #[serde(borrow)]
    pub refusal: Option<Text<'a>>,
    #[serde(borrow)]
    pub tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolCall<'a> {
    #[serde(borrow)]
    pub function: Option<Function<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    #[serde(borrow)]
    pub arguments: Option<Text<'a>>,
}

/// Token counts as the server states them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: Option<u32>,
    /// Tokens generated.
    pub completion_tokens: Option<u32>,
    /// What is known beyond the number of prompt tokens.
    pub prompt_tokens_details: Option<PromptDetails>,
}

/// Details of the prompt's tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PromptDetails {
    /// Prompt tokens found in the prefix cache.
    pub cached_tokens: Option<u32>,
}

/// Log-probabilities are only counted: one entry a token.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Logprobs {
    /// Chat.
    pub content: Option<Count>,
    /// Completions.
    pub tokens: Option<Count>,
}

/// An error as an object with a message, or as a bare text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum ErrorShape<'a> {
    Object {
        #[serde(borrow, default)]
        message: Option<Cow<'a, str>>,
        #[serde(borrow, default, rename = "type")]
        kind: Option<Cow<'a, str>>,
    },
    Text(#[serde(borrow)] Cow<'a, str>),
    Other(IgnoredAny),
}

impl ErrorShape<'_> {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Object { message: Some(text), .. }
            | Self::Object { message: None, kind: Some(text) }
            | Self::Text(text) => text.as_ref().to_owned(),
            Self::Object { .. } | Self::Other(_) => "an error without a message".to_owned(),
        }
    }
}

/// The length of an array whose entries do not matter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count(pub u32);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counter;
        impl<'de> Visitor<'de> for Counter {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Count, A::Error> {
                let mut count = 0_u32;
                while entries.next_element::<IgnoredAny>()?.is_some() {
                    count = count.saturating_add(1);
                }
                Ok(Count(count))
            }
        }
        deserializer.deserialize_seq(Counter)
    }
}
