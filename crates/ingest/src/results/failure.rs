//! How other clients' error texts are read.

use firstcheck_model::request::Fate;

/// Longest message that is kept; some clients store whole tracebacks.
const LONGEST: usize = 300;

/// Words of an error text, lower case, and the fate they tell.
const WORDS: [(&str, Fate); 12] = [
    ("too many requests", Fate::Rejected),
    ("service unavailable", Fate::Rejected),
    ("status 429", Fate::Rejected),
    ("status 503", Fate::Rejected),
    ("status code 429", Fate::Rejected),
    ("status code 503", Fate::Rejected),
    ("http 429", Fate::Rejected),
    ("http 503", Fate::Rejected),
    ("timeout", Fate::TimedOut),
    ("timed out", Fate::TimedOut),
    ("cancelled", Fate::Cancelled),
    ("canceled", Fate::Cancelled),
];

/// The fate that an error text tells; [`Fate::Failed`] unless it clearly says otherwise.
pub(super) fn fate(text: &str) -> Fate {
    let text = text.to_ascii_lowercase();
    WORDS.iter().find(|(word, _)| text.contains(word)).map_or(Fate::Failed, |(_, fate)| *fate)
}

/// The fate of an HTTP status.
pub(super) fn fate_of_status(status: i64) -> Fate {
    match status {
        429 | 503 => Fate::Rejected,
        408 | 504 => Fate::TimedOut,
        499 => Fate::Cancelled,
        _ => Fate::Failed,
    }
}

/// The last line of an error text that says something: of a traceback, the exception.
pub(super) fn message(text: &str) -> String {
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    last.unwrap_or("no message").chars().take(LONGEST).collect()
}
