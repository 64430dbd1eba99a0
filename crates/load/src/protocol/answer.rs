//! What an answer says, event by event or as a whole.

use super::chunk::{Choice, Chunk, Message, Usage};
use crate::wire::template::Template;
use firstcheck_model::request::Finish;

/// Longest piece of a server's error text that is kept, in characters.
const ERROR_TEXT: usize = 200;

/// An answer that came whole over the wire but cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// Bytes that are not UTF-8.
    #[error("invalid utf-8 in an event")]
    InvalidUtf8,
    /// Not JSON, or not of the protocol's shape.
    #[error("invalid json in an event: {reason}")]
    InvalidJson {
        /// What the parser said.
        reason: String,
    },
    /// The server reports an error after it had answered 200.
    #[error("the server says: {message}")]
    Server {
        /// Its words, shortened.
        message: String,
    },
}

impl AnswerError {
    /// A short stable name to count this failure by.
    pub fn name(&self) -> &'static str {
        match self {
            Self::InvalidUtf8 => "invalid utf-8",
            Self::InvalidJson { .. } => "invalid json",
            Self::Server { .. } => "server error",
        }
    }
}

/// One event, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Tokens it carries: `Some(0)` for none, `None` when it carries text and nothing states how many tokens.
    pub tokens: Option<u16>,
}

const NO_TOKEN: Seen = Seen { tokens: Some(0) };
const UNSTATED: Seen = Seen { tokens: None };

/// Reads the answer to one request.
///
/// Text in `content`, `reasoning_content`, `reasoning`, `refusal`, tool calls or a completion's `text` is tokens; a
/// role, an empty text, usage and `[DONE]` are none. Where the server states token ids, log-probabilities or running
/// usage, the number of tokens of each event is taken from there.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Answer {
    template: Template,
    text: Option<String>,
    usage: Usage,
    finish: Option<Finish>,
    done: bool,
}

impl Answer {
    /// An answer of which nothing was read; `keep_text` keeps its text.
    pub fn new(keep_text: bool) -> Self {
        Self { text: keep_text.then(String::new), ..Self::default() }
    }

    /// Has what the next event will be compared with fetched into the cache.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.template.prefetch();
    }

    /// Reads the `data` of one event.
    ///
    /// # Errors
    /// Any [`AnswerError`].
    #[inline]
    pub fn event(&mut self, data: &[u8]) -> Result<Seen, AnswerError> {
        if let Some(text) = self.template.text(data) {
            if let Some(kept) = &mut self.text {
                kept.push_str(text);
            }
            return Ok(UNSTATED);
        }
        self.parse(data, true)
    }

    /// Reads the body of an answer that was not streamed.
    ///
    /// # Errors
    /// Any [`AnswerError`].
    pub fn whole(&mut self, body: &[u8]) -> Result<(), AnswerError> {
        self.parse(body, false)?;
        self.done = true;
        Ok(())
    }

    /// Whether `[DONE]` was read, or the whole body.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Why generation stopped, if the server said so.
    pub fn finish(&self) -> Option<Finish> {
        self.finish
    }

    /// The server's last statement of token counts.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The text read so far, if it was asked for.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    fn parse(&mut self, data: &[u8], streamed: bool) -> Result<Seen, AnswerError> {
        if data == b"[DONE]" {
            self.done = true;
            return Ok(NO_TOKEN);
        }
        let utf8 = std::str::from_utf8(data).map_err(|_| AnswerError::InvalidUtf8)?;
        let chunk: Chunk<'_> =
            serde_json::from_str(utf8).map_err(|e| AnswerError::InvalidJson { reason: e.to_string() })?;
        if let Some(error) = server_error(&chunk) {
            return Err(error);
        }
        let stated_usage = chunk.usage.and_then(|usage| self.take_usage(usage));
        let mut texts = 0_u32;
        let mut stated: Option<u32> = None;
        let mut only: Option<&str> = None;
        let choices = chunk.choices.as_deref().unwrap_or(&[]);
        for choice in choices {
            if let Some(reason) = &choice.finish_reason {
                self.finish = Some(Finish::from_name(&reason.0));
            }
            if let Some(count) = stated_tokens(choice) {
                *stated.get_or_insert(0) += count;
            }
            for text in texts_of(choice) {
                if let Some(kept) = &mut self.text {
                    kept.push_str(text);
                }
                texts += 1;
                only = Some(text);
            }
        }
        // The structure may be reused only where the text is all that the event says.
        let plain = streamed && texts == 1 && stated.is_none() && chunk.usage.is_none();
        match only {
            Some(text) if plain && choices.iter().all(|choice| choice.finish_reason.is_none()) => {
                self.template.learn(data, text);
            }
            _ => {}
        }
        Ok(match (stated.or(stated_usage.filter(|_| texts > 0)), texts) {
            (Some(tokens), _) if tokens > 0 || texts == 0 => Seen { tokens: u16::try_from(tokens).ok() },
            (_, 0) => NO_TOKEN,
            _ => UNSTATED,
        })
    }

    /// Takes a statement of counts; gives how many generated tokens are new since the last one.
    fn take_usage(&mut self, usage: Usage) -> Option<u32> {
        let before = self.usage.completion_tokens.unwrap_or(0);
        self.usage = usage;
        usage.completion_tokens?.checked_sub(before)
    }
}

fn server_error(chunk: &Chunk<'_>) -> Option<AnswerError> {
    let flat = chunk.object.as_ref().is_some_and(|object| object.0 == "error");
    let message = match (&chunk.error, &chunk.message) {
        (Some(error), _) => error.text(),
        (None, Some(message)) if flat => message.0.as_ref().to_owned(),
        (None, None) if flat => "an error without a message".to_owned(),
        (None, _) => return None,
    };
    Some(AnswerError::Server { message: message.chars().take(ERROR_TEXT).collect() })
}

/// The text of an error answer's body: its message where it is an error object, else its beginning.
pub fn error_text(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(&text)
        && let Some(AnswerError::Server { message }) = server_error(&chunk)
    {
        return message;
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(ERROR_TEXT).collect()
}

fn stated_tokens(choice: &Choice<'_>) -> Option<u32> {
    let logprobs = choice.logprobs.as_ref();
    let counts = [choice.token_ids, logprobs.and_then(|l| l.content), logprobs.and_then(|l| l.tokens)];
    counts.into_iter().flatten().map(|count| count.0).next()
}

fn texts_of<'c>(choice: &'c Choice<'_>) -> impl Iterator<Item = &'c str> {
    let bare = choice.text.iter().map(|text| text.0.as_ref());
    let messages = [&choice.delta, &choice.message].into_iter().flatten();
    bare.chain(messages.flat_map(message_texts)).filter(|text| !text.is_empty())
}

fn message_texts<'c>(message: &'c Message<'_>) -> impl Iterator<Item = &'c str> {
    // A server that sends both names of the reasoning sends the same text twice.
    let reasoning = message.reasoning_content.as_ref().or(message.reasoning.as_ref());
    let plain = [reasoning, message.content.as_ref(), message.refusal.as_ref()].into_iter().flatten();
    let calls = message.tool_calls.iter().flatten().filter_map(|call| call.function.as_ref());
    let called = calls.flat_map(|f| [f.name.as_ref(), f.arguments.as_ref()].into_iter().flatten());
    plain.chain(called).map(|text| text.0.as_ref())
}
