//! Schemas and when each is compiled.

use crate::{config::Structured, kv_cache::hash::mix};
use std::collections::HashMap;

/// The compiler of schemas, with those that it has compiled or is about to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grammars {
    ready_ns: HashMap<u64, i64>,
    busy_until_ns: i64,
    /// Time of compilation on the engine's thread that no step has paid yet, nanoseconds.
    stall_ns: i64,
}

impl Grammars {
    /// From when on a request for `schema` that is taken in at `now_ns` may be admitted.
    pub(crate) fn ready_ns(&mut self, structured: &Structured, schema: u64, now_ns: i64) -> i64 {
        if structured.cached
            && let Some(ready_ns) = self.ready_ns.get(&schema)
        {
            return *ready_ns;
        }
        let compile_ns = (structured.compile_seconds * 1e9).round() as i64;
        let ready_ns = if structured.compiles_on_engine {
            self.stall_ns += compile_ns;
            now_ns
        } else {
            self.busy_until_ns = self.busy_until_ns.max(now_ns).saturating_add(compile_ns);
            self.busy_until_ns
        };
        self.ready_ns.insert(schema, ready_ns);
        ready_ns
    }

    /// Whether nobody has ever asked for a schema.
    pub(crate) fn is_empty(&self) -> bool {
        self.ready_ns.is_empty()
    }

    /// Takes the time for which compilation holds up the engine's next step, nanoseconds.
    pub(crate) fn take_stall_ns(&mut self) -> i64 {
        std::mem::take(&mut self.stall_ns)
    }
}

impl Structured {
    /// Whether the answer to the request read as `key` falls into an endless run of white space.
    pub(crate) fn runs_away(&self, key: u64) -> bool {
        let uniform = (mix(key ^ 0x0077_6869_7465) >> 11) as f64 / (1u64 << 53) as f64;
        uniform < self.runaway_share
    }
}
