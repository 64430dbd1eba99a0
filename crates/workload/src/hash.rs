//! Whether two traces are the same.

use crate::{
    prompt::{Piece, Prompt},
    trace::{Due, Trace},
};
use firstcheck_model::run::Arrivals;
use serde_json::Value;
use xxhash_rust::xxh3::Xxh3Default;

/// First bytes hashed: another way of hashing gets another number here.
const VERSION: &[u8] = b"firstcheck.trace/1";

/// Hash of a trace (XXH3, 128 bits, 32 hexadecimal digits): when each request is due, its prompt piece by piece, its
/// output length and session. The salt and the description are left out, so that equal hashes mean the same trace
/// whatever each run put in front of it.
pub fn trace_hash(trace: &Trace) -> String {
    let mut hash = Hasher(Xxh3Default::new());
    hash.bytes(VERSION);
    if let Arrivals::Closed { concurrency } = trace.arrivals {
        hash.number(u64::from(concurrency));
    }
    hash.number(trace.items.len() as u64);
    for item in &trace.items {
        hash.due(item.due);
        hash.prompt(&item.prompt);
        hash.optional(item.output_tokens);
        hash.optional(item.session);
    }
    format!("{:032x}", hash.0.digest128())
}

/// Writes fields one after another; each variable one with its length or tag first, so that no two traces write the
/// same bytes.
struct Hasher(Xxh3Default);

impl Hasher {
    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn optional(&mut self, number: Option<u32>) {
        // One more than any `u32` stands for none.
        self.number(number.map_or(1 << 32, u64::from));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn due(&mut self, due: Due) {
        match due {
            Due::At(moment) => {
                self.number(0);
                // `Moment::NEVER` is `i64::MIN` on disk as well, so it takes the same place here.
                self.number(moment.get().unwrap_or(i64::MIN).cast_unsigned());
            }
            Due::WhenFree => self.number(1),
            Due::After { row, think_ns } => {
                self.number(2);
                self.number(u64::from(row));
                self.number(think_ns.cast_unsigned());
            }
        }
    }

    fn prompt(&mut self, prompt: &Prompt) {
        match prompt {
            Prompt::Messages(messages) => {
                self.number(messages.len() as u64);
                for message in messages {
                    self.bytes(message.speaker.role().as_bytes());
                    self.number(message.pieces.len() as u64);
                    message.pieces.iter().for_each(|piece| self.piece(piece));
                }
            }
            Prompt::Body(map) => {
                self.number(u64::MAX);
                self.fields(map);
            }
        }
    }

    fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Synthetic { seed, tokens } => {
                self.number(0);
                self.number(*seed);
                self.number(u64::from(*tokens));
            }
            Piece::Text(text) => {
                self.number(1);
                self.bytes(text.as_bytes());
            }
        }
    }

    /// Fields in the order of their names: whether `serde_json` keeps a file's order depends on the features of the build.
    fn fields(&mut self, map: &serde_json::Map<String, Value>) {
        let mut fields: Vec<_> = map.iter().collect();
        fields.sort_unstable_by_key(|(name, _)| *name);
        self.number(fields.len() as u64);
        for (name, value) in fields {
            self.bytes(name.as_bytes());
            self.value(value);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                self.number(0);
                self.fields(map);
            }
            Value::Array(items) => {
                self.number(1);
                self.number(items.len() as u64);
                items.iter().for_each(|item| self.value(item));
            }
            Value::String(text) => {
                self.number(2);
                self.bytes(text.as_bytes());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.number(3);
                self.bytes(value.to_string().as_bytes());
            }
        }
    }
}
