//! Token ids outside the words of the vocabulary, by their numbers in a Llama 3 vocabulary.

/// Begins a text.
pub const BEGIN_OF_TEXT: u32 = 128_000;
/// Ends a text.
pub const END_OF_TEXT: u32 = 128_001;
/// Ends a turn: what the toy model says when its answer is complete.
pub const END_OF_TURN: u32 = 128_009;

/// The name of a special token; `None` for a word.
pub fn name(token: u32) -> Option<&'static str> {
    match token {
        BEGIN_OF_TEXT => Some("<|begin_of_text|>"),
        END_OF_TEXT => Some("<|end_of_text|>"),
        END_OF_TURN => Some("<|eot_id|>"),
        _ => None,
    }
}

/// The token as text: a word, a special token's name, or the number in angle brackets of a token that has neither.
pub fn text(token: u32) -> String {
    match (firstcheck_workload::text::word(token), name(token)) {
        (Some(word), _) => word.to_owned(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => format!("<{token}>"),
    }
}
