//! A workload as it was seen, without its text: lengths, arrival times and prefix structure.
//!
//! The form is Mooncake's, a JSON object a line, with blocks of [`BLOCK_TOKENS`] tokens: equal ids are equal blocks. Ids are
//! numbers in the order in which blocks occur; nothing in them comes from a prompt. What two prompts share is known only as
//! far as it was recorded:
//!
//! - requests whose prompts were equal share all of it;
//! - a later turn of a session begins as the turn before it, as far as it is as long;
//! - tokens that a server found in its cache stand for a beginning that all such requests share.

use serde::Serialize;
use std::collections::BTreeMap;

/// Tokens of a block: those of an engine's KV blocks, so that a shared beginning is not rounded away.
pub const BLOCK_TOKENS: u32 = 16;

/// A request as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recorded {
    /// When it was due, in nanoseconds from any moment.
    pub at_ns: i64,
    /// Tokens of its prompt.
    pub prompt_tokens: u32,
    /// Tokens of its answer, or of the answer that it asked for.
    pub output_tokens: u32,
    /// Equal for equal prompts.
    pub identity: Option<u64>,
    /// Its session.
    pub session: Option<u32>,
    /// Tokens of its prompt that a server had cached.
    pub cached_tokens: Option<u32>,
}

#[derive(Serialize)]
struct Line<'l> {
    timestamp: f64,
    input_length: u32,
    output_length: u32,
    hash_ids: &'l [u64],
}

/// The requests as lines of a trace, which `run:FILE` reads; the earliest is at 0. Requests without a token in or out are
/// left out; how many is returned.
///
/// # Example: two turns of a session
/// ```
/// use firstcheck_workload::recorded::{Recorded, write};
/// let turn = |at_ns, prompt_tokens| Recorded { at_ns, prompt_tokens, output_tokens: 8, session: Some(1), ..Recorded::default() };
/// let (text, left_out) = write(&[turn(5_000_000, 32), turn(9_000_000, 64)]);
/// assert_eq!(left_out, 0);
/// assert_eq!(text, "\
/// {\"timestamp\":0.0,\"input_length\":32,\"output_length\":8,\"hash_ids\":[0,1]}
/// {\"timestamp\":4.0,\"input_length\":64,\"output_length\":8,\"hash_ids\":[0,1,2,3]}
/// ");
/// ```
pub fn write(requests: &[Recorded]) -> (String, usize) {
    let mut whole: Vec<&Recorded> = requests.iter().filter(|r| r.prompt_tokens > 0 && r.output_tokens > 0).collect();
    let left_out = requests.len() - whole.len();
    whole.sort_by_key(|request| request.at_ns);
    let first = whole.first().map_or(0, |request| request.at_ns);
    let mut blocks = Blocks::default();
    let mut text = String::new();
    for request in whole {
        let ids = blocks.of(request);
        let line = Line {
            timestamp: request.at_ns.saturating_sub(first) as f64 / 1e6,
            input_length: request.prompt_tokens,
            output_length: request.output_tokens,
            hash_ids: &ids,
        };
        // Numbers alone: serialising them cannot fail.
        if let Ok(line) = serde_json::to_string(&line) {
            text += &line;
            text.push('\n');
        }
    }
    (text, left_out)
}

/// Blocks that were given out.
#[derive(Default)]
struct Blocks {
    next: u64,
    prompts: BTreeMap<u64, Vec<u64>>,
    sessions: BTreeMap<u32, Vec<u64>>,
    /// The beginning that cached prompts share.
    common: Vec<u64>,
}

impl Blocks {
    fn of(&mut self, request: &Recorded) -> Vec<u64> {
        let count = request.prompt_tokens.div_ceil(BLOCK_TOKENS) as usize;
        let known = request.identity.and_then(|identity| self.prompts.get(&identity));
        let known = known.or_else(|| self.sessions.get(&request.session?));
        let mut ids: Vec<u64> = known.map_or_else(Vec::new, |ids| ids.iter().copied().take(count).collect());
        if ids.is_empty() {
            let cached = (request.cached_tokens.unwrap_or(0).min(request.prompt_tokens) / BLOCK_TOKENS) as usize;
            while self.common.len() < cached {
                self.common.push(self.next);
                self.next += 1;
            }
            ids.extend(&self.common[..cached]);
        }
        while ids.len() < count {
            ids.push(self.next);
            self.next += 1;
        }
        if let Some(identity) = request.identity {
            self.prompts.insert(identity, ids.clone());
        }
        if let Some(session) = request.session {
            self.sessions.insert(session, ids.clone());
        }
        ids
    }
}
