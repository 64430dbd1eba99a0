//! What a prefill batch may still take.

use super::kv::Pool;
use crate::config::Sglang;

/// A request's share of a prefill batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pick {
    pub(super) slot: u32,
    /// Tokens computed or found before.
    pub(super) prior: u32,
    /// Tokens to compute.
    pub(super) tokens: u32,
    /// Whether it comes from the waiting queue; else it is the request whose chunks go on.
    pub(super) fresh: bool,
}

/// How the trial of a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is in, and there may be room for another one.
    Continue,
    /// Memory is used up: by what it needs, or with it.
    NoToken,
    /// Another budget is used up.
    Other,
}

/// Budgets of one prefill batch. What is reserved lies between free and used: it is not taken, but not to be had.
#[derive(Debug)]
pub(super) struct Adder {
    page: u32,
    /// Input tokens left.
    pub(super) input: i64,
    /// Tokens left of the step's chunk size; `None`: no chunks.
    pub(super) chunk: Option<i64>,
    /// Tokens that this batch takes and those that it and the running requests are expected to need.
    reserved: f64,
    /// Tokens that this batch takes.
    taken: i64,
    pub(super) picks: Vec<Pick>,
    /// Remaining output and tokens held, of all requests, by remaining output: kept only where admission looks ahead.
    pub(super) outlook: Option<Vec<(f64, f64)>>,
}

impl Adder {
    /// Budgets beside running requests that are expected to need `reserved` tokens more, and of which `mixed` decode in
    /// the same step.
    pub(super) fn new(rules: &Sglang, reserved: f64, mixed: usize) -> Self {
        let mixed = mixed as i64;
        Self {
            page: rules.page_size,
            input: i64::from(rules.max_prefill_tokens) - mixed,
            chunk: rules.chunked_prefill_size.map(|size| i64::from(size) - mixed),
            reserved: reserved + mixed as f64,
            taken: mixed,
            picks: Vec::new(),
            outlook: None,
        }
    }

    /// Tokens left when all are set aside that are expected to be needed.
    pub(super) fn left(&self, pool: &Pool) -> f64 {
        f64::from(pool.available()) - self.reserved
    }

    /// Tokens left when only this batch is set aside.
    pub(super) fn left_now(&self, pool: &Pool) -> i64 {
        i64::from(pool.available()) - self.taken
    }

    /// Takes a request in: its tokens in whole pages, a page for what may overlap, and the output reserved for it.
    pub(super) fn charge(&mut self, pool: &Pool, pick: Pick, output: u32) -> Verdict {
        let tokens = i64::from(pool.ceil(pick.tokens));
        let at_once = tokens + i64::from(self.page);
        self.reserved += at_once as f64 + f64::from(output);
        self.taken += at_once;
        self.input -= tokens;
        self.chunk = self.chunk.map(|left| left - tokens);
        self.picks.push(pick);
        if self.left(pool) <= 0.0 || self.left_now(pool) <= 0 {
            Verdict::NoToken
        } else if self.input <= 0 || self.chunk.is_some_and(|left| left <= 0) {
            Verdict::Other
        } else {
            Verdict::Continue
        }
    }
}
