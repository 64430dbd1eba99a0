//! ShareGPT conversations: a JSON array of objects with `conversations`, each turn with `from` and `value`.
//!
//! `human` or `user` asks, `gpt`, `chatgpt`, `bing`, `bard` or `assistant` answers, `system` comes first if at all.
//! The output length is the number of words of the answer that follows.

use super::{Reading, Slice};
use crate::{
    error::{Error, Place},
    prompt::{Message, Piece, Prompt, Speaker},
    text,
};
use serde::de::{Deserializer as _, SeqAccess, Visitor};
use serde_json::Value;
use std::{fmt, io::BufRead};

/// One question with everything said before it.
pub(crate) struct Turn {
    /// What is asked.
    pub(crate) prompt: Prompt,
    /// Words of the answer, if the conversation holds one.
    pub(crate) answer_tokens: Option<u32>,
}

/// Reads conversations: the first question of each, or all.
pub(crate) fn read(source: &mut dyn BufRead, slice: Slice, all_turns: bool) -> Result<Reading<Vec<Turn>>, Error> {
    let mut walk = Walk { reading: Reading::new(slice), all_turns, stop: None };
    let mut json = serde_json::Deserializer::from_reader(source);
    let read = json.deserialize_seq(&mut walk).and_then(|()| json.end());
    match (walk.stop.take(), read) {
        (Some(Stop::Failed(error)), _) => Err(error),
        (Some(Stop::Full), _) | (None, Ok(())) => Ok(walk.reading),
        (None, Err(error)) => Err(malformed(error)),
    }
}

fn malformed(error: serde_json::Error) -> Error {
    let place = Place::Line(error.line() as u64);
    if error.is_io() {
        return Error::Unreadable { place, error: error.into() };
    }
    let reason = format!("no JSON array of conversations: {error}");
    Error::Malformed { place, reason }
}

struct Walk {
    reading: Reading<Vec<Turn>>,
    all_turns: bool,
    stop: Option<Stop>,
}

/// Why the walk ended before the array did.
enum Stop {
    Full,
    Failed(Error),
}

impl<'de> Visitor<'de> for &mut Walk {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of conversations")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        for number in 1.. {
            if self.reading.full() {
                self.stop = Some(Stop::Full);
                return Err(serde::de::Error::custom("all conversations asked for were read"));
            }
            let Some(conversation) = array.next_element::<Value>()? else { break };
            let turns = turns(&conversation, self.all_turns);
            if let Err(error) = self.reading.take(Place::Conversation(number), turns) {
                self.stop = Some(Stop::Failed(error));
                return Err(serde::de::Error::custom("a conversation cannot be read"));
            }
        }
        Ok(())
    }
}

fn turns(conversation: &Value, all_turns: bool) -> Result<Vec<Turn>, String> {
    let said = conversation.get("conversations").ok_or("conversations is missing: expected an array of turns")?;
    let said = said.as_array().ok_or("conversations is no array: expected turns with from and value")?;
    let messages = said.iter().enumerate().map(|(at, turn)| message(at + 1, turn)).collect::<Result<Vec<_>, _>>()?;
    let start = messages.iter().position(|message| message.speaker != Speaker::System);
    match start.map(|at| messages[at].speaker) {
        Some(Speaker::User) => {}
        Some(_) => return Err("begins with an answer: expected a question of `human` first".to_owned()),
        None => return Err("holds no question: expected a turn of `human`".to_owned()),
    }
    let questions = messages.iter().enumerate().filter(|(_, message)| message.speaker == Speaker::User);
    let turns = questions.map(|(at, _)| Turn {
        prompt: Prompt::Messages(messages[..=at].to_vec()),
        answer_tokens: messages
            .get(at + 1)
            .filter(|next| next.speaker == Speaker::Assistant)
            .and_then(|answer| u32::try_from(answer.tokens()).ok())
            .filter(|tokens| *tokens > 0),
    });
    Ok(turns.take(if all_turns { usize::MAX } else { 1 }).collect())
}

fn message(number: usize, turn: &Value) -> Result<Message, String> {
    let field = |name: &str| {
        let value = turn.get(name).ok_or_else(|| format!("turn {number}: {name} is missing: expected text"))?;
        value.as_str().ok_or_else(|| format!("turn {number}: {name} is no text"))
    };
    let speaker = match field("from")? {
        "human" | "user" => Speaker::User,
        "gpt" | "chatgpt" | "bing" | "bard" | "assistant" => Speaker::Assistant,
        "system" => Speaker::System,
        other => return Err(format!("turn {number}: from is `{other}`: expected human, gpt or system")),
    };
    let value = field("value")?;
    if speaker == Speaker::User && text::count_words(value) == 0 {
        return Err(format!("turn {number}: the question is empty"));
    }
    Ok(Message::new(speaker, vec![Piece::Text(value.into())]))
}
