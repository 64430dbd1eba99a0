//! Which readers a message is for: one pass over it with all the parts that they look for.
//!
//! Most lines of a long log carry nothing, and most others something for one reader only.

use super::{
    choice, event,
    failure::{self, Traceback},
    interval, kv_connector,
    reader::{At, LogReader},
    startup,
};
use aho_corasick::{
    Anchored,
    automaton::{Automaton, StateID},
    dfa::DFA,
};
use std::sync::LazyLock;

/// What reads messages of one kind.
struct Reader {
    /// Every message that it takes has one of these parts.
    parts: fn() -> Vec<&'static str>,
    /// Takes a message; whether it was one of the kind.
    take: fn(&mut LogReader, &str, &At<'_>) -> bool,
}

/// All of them. The first that takes a message is right.
const READERS: [Reader; 6] = [
    Reader { parts: failure::parts, take: Traceback::take },
    Reader { parts: || startup::PARTS.to_vec(), take: startup::take },
    Reader { parts: || kv_connector::PARTS.to_vec(), take: kv_connector::take },
    Reader { parts: || interval::PARTS.to_vec(), take: interval::take },
    Reader { parts: event::parts, take: event::take },
    Reader { parts: choice::parts, take: choice::take },
];

/// The first of them, that of failures, as a set.
const FAILURES: u8 = 1;

/// All parts in one automaton.
static PARTS: LazyLock<Parts> = LazyLock::new(Parts::new);

struct Parts {
    automaton: DFA,
    start: StateID,
    /// For each part the reader that looks for it, as a set of one.
    readers: Vec<u8>,
}

impl Parts {
    // A constant list of short words: it is far below every limit of the builder.
    #[expect(clippy::expect_used, reason = "the parts are constants, and a test builds the automaton")]
    fn new() -> Self {
        let readers = READERS.iter().enumerate();
        let parts = readers.flat_map(|(number, one)| (one.parts)().into_iter().map(move |part| (part, 1 << number)));
        let (parts, readers): (Vec<&str>, Vec<u8>) = parts.unzip();
        let automaton = DFA::builder().prefilter(false).build(parts).expect("constant parts");
        let start = automaton.start_state(Anchored::No).expect("it looks everywhere");
        Self { automaton, start, readers }
    }

    /// The readers of which a part is in the message: all parts count, those too that lie over each other.
    fn readers(&self, message: &str) -> u8 {
        let (automaton, mut state, mut found) = (&self.automaton, self.start, 0);
        for byte in message.bytes() {
            state = automaton.next_state(Anchored::No, state, byte);
            if automaton.is_special(state) && automaton.is_match(state) {
                let parts = (0..automaton.match_len(state)).map(|nth| automaton.match_pattern(state, nth));
                found |= parts.fold(0, |found, part| found | self.readers[part.as_usize()]);
            }
        }
        found
    }
}

/// Lets the readers that it is for take a message; whether one did. `in_failure`: a traceback goes on, or was told just
/// before, so that any message may belong to it.
pub(super) fn take(reader: &mut LogReader, message: &str, in_failure: bool, at: &At<'_>) -> bool {
    let asked = PARTS.readers(message) | if in_failure { FAILURES } else { 0 };
    READERS.iter().enumerate().any(|(number, one)| asked & (1 << number) != 0 && (one.take)(reader, message, at))
}
